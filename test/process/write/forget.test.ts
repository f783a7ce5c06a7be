import { once } from "node:events";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { filesHolding } from "../../helpers/bytes.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

/** Word that occurs in no other text, and that a full-text index keeps whole. */
const SECRET = "zq7xk9unforgettable4w2v";

/** Files the secret in every way. Returns the id of a drawer with the secret, and the id of another drawer. */
async function fileSecrets(palace: TestPalace): Promise<{ id: string; other: string }> {
  await using shim = await palace.shim();
  const add = async (content: string, more: object = {}): Promise<string> =>
    String((await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content, ...more }))["drawer_id"]);
  const id = await add(`the code is ${SECRET}.`);
  // The secret crosses the border of two slices.
  await add(`${"filler ".repeat(113)}${SECRET} and more ${"filler ".repeat(60)}`);
  const changed = await add(`once ${SECRET}, then something else`);
  await shim.call("mempalace_update_drawer", { drawer_id: changed, content: "once a word, then something else" });
  const deleted = await add(`${SECRET} is deleted soon`);
  await shim.call("mempalace_delete_drawer", { drawer_id: deleted });
  await shim.call("mempalace_diary_write", { agent_name: "me", entry: `dear diary, ${SECRET}` });
  await shim.call("mempalace_kg_add", { subject: "safe", predicate: "opens_with", object: SECRET });
  await shim.call("mempalace_kg_add", { subject: "safe", predicate: "stands_in", object: "the cellar" });
  await shim.call("mempalace_create_tunnel", {
    ...{ source_wing: "w", source_room: "r", target_wing: "wing_me", target_room: "diary", label: SECRET },
  });
  await shim.call("mempalace_search", { query: SECRET });
  const other = await add("nothing to hide", { source_file: "/notes/a.md" });
  for (let index = 0; index < 40; index++) await add(`some other note, number ${index}`);
  const client = await palace.client();
  await client.call("source.replace", {
    ...{ wing: "w", room: "r", sourceFile: "/notes/b.md", mtime: 1, sha256: "x", addedBy: "test" },
    content: `${"A line of a document that is long enough.\n".repeat(30)}${SECRET}\n${"And some more of it.\n".repeat(30)}`,
  });
  client.close();
  return { id, other };
}

async function settled(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  const isSettled = async (): Promise<boolean> => {
    const { driver, graph, search } = await client.call("palace.status", {});
    return driver.lag === 0 && graph.lag === 0 && (driver.kind === "none" || search.pending === 0);
  };
  for (let tries = 0; !(await isSettled()); tries++) {
    if (tries > 600) throw new Error("the palace was not written");
    await delay(50);
  }
  client.close();
}

const forget = (palace: TestPalace, ...args: string[]): ReturnType<TestPalace["run"]> =>
  palace.run("palace", ["forget", ...args, "--json"]);

function scene(driver: "none" | "files"): { palace: TestPalace; env: Record<string, string> } {
  const palace = createTestPalace({ env: { MEMPALACE_DRIVER: driver } });
  return { palace, env: { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`), MEMPALACE_DRIVER: driver } };
}

for (const driver of ["none", "files"] as const) {
  describe(`palace forget, driver ${driver}`, () => {
    it("forgetting leaves no byte of a text, with the broker running or stopped, and keeps every other drawer", async () => {
      const { palace, env } = scene(driver);
      await using _owned = palace;
      const broker = await palace.startBroker(env);
      const { other } = await fileSecrets(palace);
      await settled(palace);
      expect(filesHolding(palace.home, SECRET).length).toBeGreaterThan(driver === "files" ? 2 : 1);

      const look = await forget(palace, "--match", SECRET, "--dry-run");
      const preview = JSON.parse(look.stdout) as { total: number; facts: number; links: number };
      // The text is in a drawer of one slice, in both slices of a long drawer, in a diary entry and in a document's chunk.
      expect(preview).toMatchObject({ facts: 1, links: 1 });
      expect(preview.total).toBeGreaterThanOrEqual(5);
      expect(look.stdout).not.toContain(SECRET);
      expect(await forget(palace, "--match", SECRET)).toMatchObject({ code: 2 });

      const done = await forget(palace, "--match", SECRET, "--yes");
      expect(done.stderr).toBe("");
      expect(JSON.parse(done.stdout)).toMatchObject({
        drawers: preview.total,
        facts: 1,
        links: 1,
        pending: 0,
        left: [],
      });
      expect(filesHolding(palace.home, SECRET)).toEqual([]);

      const shim = await palace.shim();
      expect(await shim.call("mempalace_get_drawer", { drawer_id: other })).toMatchObject({
        content: "nothing to hide",
      });
      expect(await shim.call("mempalace_search", { query: "number 17" })).toMatchObject({
        results: [{}, {}, {}, {}, {}],
      });
      const facts = await shim.call("mempalace_kg_query", { entity: "safe" });
      expect(JSON.stringify(facts)).toContain("the cellar");
      await shim[Symbol.asyncDispose]();
      expect(filesHolding(palace.home, SECRET)).toEqual([]);
      await settled(palace);
      const ended = once(broker, "exit");
      broker.kill("SIGTERM");
      await ended;
      expect(filesHolding(palace.home, SECRET)).toEqual([]);
      // Starts another broker, which must not bring the text back.
      await palace.startBroker(env);
      await settled(palace);
      expect(filesHolding(palace.home, SECRET)).toEqual([]);
    });
  });
}

/** Id of a drawer that was never filed. */
const NOBODYS = `drawer_w_r_${"0".repeat(24)}`;

describe("palace forget", () => {
  it("forgetting by ids and by source removes only the given drawers and all their earlier states", async () => {
    const { palace, env } = scene("files");
    await using _owned = palace;
    await palace.startBroker(env);
    await using shim = await palace.shim();
    const add = async (content: string, source = ""): Promise<string> =>
      String(
        (await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content, source_file: source }))["drawer_id"],
      );
    const id = await add(`first ${SECRET}`);
    await shim.call("mempalace_update_drawer", { drawer_id: id, content: "second state of it" });
    await add(`of a source: ${SECRET}b`, "/notes/x.md");
    const stays = await add("of another source", "/notes/y.md");
    await settled(palace);
    const done = await forget(palace, id, NOBODYS, "--yes");
    expect(JSON.parse(done.stdout)).toMatchObject({ drawers: 1, missing: [NOBODYS], pending: 0 });
    // The source's drawer with the word `SECRET` and one more letter stays: forgetting is by id, not by text.
    expect(filesHolding(palace.home, `first ${SECRET}`)).toEqual([]);
    expect(filesHolding(palace.home, "second state of it")).toEqual([]);
    expect(filesHolding(palace.home, `${SECRET}b`).length).toBeGreaterThan(0);
    expect(JSON.parse((await forget(palace, "--source", "/notes/x.md", "--yes")).stdout)).toMatchObject({ drawers: 1 });
    expect(filesHolding(palace.home, SECRET)).toEqual([]);
    expect(await shim.call("mempalace_get_drawer", { drawer_id: stays })).toMatchObject({
      content: "of another source",
    });
  });

  it("forgetting names backups, removes spooled writes and staged copies, and names the sources that mining would file again", async () => {
    const { palace, env } = scene("none");
    await using _owned = palace;
    const { home, ledgerFile, spoolDir, palaceDir } = palace.config.paths;
    await palace.startBroker(env);
    await using shim = await palace.shim();
    const source = join(palace.home, "notes.md");
    writeFileSync(source, `${SECRET}\n`);
    const content = `from a file: ${SECRET}`;
    await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content, source_file: source });
    copyFileSync(`${ledgerFile}-wal`, join(home, "ledger.sqlite3.bak"));
    mkdirSync(`${palaceDir}.old-1`, { recursive: true });
    writeFileSync(join(`${palaceDir}.old-1`, "chroma.sqlite3"), content);
    const staged = join(palace.home, ".cache/mempalace-session/w");
    mkdirSync(staged, { recursive: true });
    writeFileSync(join(staged, "a.jsonl"), JSON.stringify({ text: content }));
    mkdirSync(join(spoolDir, "refused"), { recursive: true });
    writeFileSync(join(spoolDir, "refused", "x.json"), JSON.stringify({ line: content }));
    mkdirSync(join(palace.config.paths.settingsDir, "wal"));
    const log = join(palace.config.paths.settingsDir, "wal", "write_log.jsonl");
    writeFileSync(log, `{"operation":"kg_add","params":{"object":"${SECRET}"}}\n{"operation":"kg_add"}\n`);
    const done = JSON.parse((await forget(palace, "--match", SECRET, "--yes")).stdout) as {
      removed: { path: string; what: string }[];
      left: { path: string; what: string }[];
    };
    const shown = (list: { path: string; what: string }[]): string[] =>
      list.map(({ path, what }) => `${what} ${path.slice(palace.home.length)}`).sort();
    expect(shown(done.removed)).toEqual([
      "audit log /.mempalace/wal/write_log.jsonl",
      "spool /.local/state/palace/spool/" + spoolDir.split("/").at(-1) + "/refused/x.json",
      "staged copy /.cache/mempalace-session/w/a.jsonl",
    ]);
    expect(shown(done.left)).toEqual([
      "backup /.mempalace/ledger.sqlite3.bak",
      "backup /.mempalace/palace.old-1/chroma.sqlite3",
      "source /notes.md",
    ]);
    expect(filesHolding(palace.home, SECRET).sort()).toEqual([
      ".mempalace/ledger.sqlite3.bak",
      ".mempalace/palace.old-1/chroma.sqlite3",
      "notes.md",
    ]);
  });
});
