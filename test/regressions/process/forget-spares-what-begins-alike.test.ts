/** `palace forget ID` removed every spooled write that had the first 120 characters of the drawer's text, and so lost other notes. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Spool } from "../../../src/wire/client/spool.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const TEMPLATE = `Weekly report of the platform team, in the form that was agreed upon in spring: ${"what was done, ".repeat(8)}`;

it("forget removes spooled writes that contain the drawer's whole text, and keeps writes that have only its beginning", async () => {
  await using palace = createTestPalace();
  const { spoolDir } = palace.config.paths;
  await palace.startBroker();
  await using shim = await palace.shim();
  const text = `${TEMPLATE}\nweek 1: "the old thing"`;
  const added = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: text });

  const spool = new Spool(spoolDir);
  const keep = (key: string, tool: string, values: object): void => {
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: values } };
    spool.append({ atMs: Date.now(), agent: "test", tool, key, line: JSON.stringify(request) });
  };
  const add = "mempalace_add_drawer";
  keep("other", add, { wing: "w", room: "r", content: `${TEMPLATE}\nweek 2: the new thing` });
  keep("shorter", add, { wing: "w", room: "r", content: TEMPLATE });
  keep("same", add, { wing: "w", room: "r", content: text });
  keep("within", "mempalace_checkpoint", { items: [{ wing: "w", room: "r", content: `once more: ${text}, it said` }] });
  const kept = new Map(spool.entries().map(({ key, name }) => [key, name]));
  // A refused write stays in the spool, because no client delivers it.
  for (const name of kept.values()) spool.refuse(name, "for this test");

  const look = await palace.run("palace", ["forget", String(added["drawer_id"]), "--dry-run", "--json"]);
  expect(look.stdout).not.toContain("sha256");
  const done = await palace.run("palace", ["forget", String(added["drawer_id"]), "--yes", "--json"]);
  const left = [...kept].flatMap(([key, name]) => (existsSync(join(spoolDir, "refused", name)) ? [key] : []));
  expect(left).toEqual(["other", "shorter"]);
  const spooled = (said: string, list: string): string[] =>
    (JSON.parse(said) as Record<string, { path: string; what: string }[]>)[list]
      ?.filter(({ what }) => what === "spool")
      .map(({ path }) => [...kept].find(([, name]) => path.endsWith(name))?.[0] ?? path)
      .sort() ?? [];
  expect(spooled(look.stdout, "files")).toEqual(["same", "within"]);
  expect(spooled(done.stdout, "removed")).toEqual(["same", "within"]);
});
