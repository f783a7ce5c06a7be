/** Tests `undo --seq` with an older broker, which ignores `seq`: today's broker whose undo module is replaced. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";

/** Returns the environment of a broker whose undo does not read `seq`. */
function withoutSeq({ home }: TestPalace): Record<string, string> {
  const file = join(home, "without-seq.mjs");
  writeFileSync(
    file,
    `import { registerHooks } from "node:module";
     registerHooks({
       load(url, context, next) {
         const found = next(url, context);
         if (!url.endsWith("/hygiene/hygiene.ts")) return found;
         const source = String(found.source);
         if (!source.includes(", seq = null }")) throw new Error("readUndo has changed");
         return { ...found, source: source.replace(", seq = null }", ", none: seq = null }") };
       },
     });`,
  );
  return { NODE_OPTIONS: `--import ${file}` };
}

async function notes(palace: TestPalace): Promise<unknown> {
  await using shim = await palace.shim();
  return ((await shim.call("mempalace_list_drawers", {})) as { total: number }).total;
}

test("palace history undo --seq undoes nothing with a broker that does not know --seq", async () => {
  // Only a broker that runs from its sources loads the replacement.
  await using palace = createTestPalace({ built: false });
  const older = await palace.startBroker(withoutSeq(palace));
  await palace.run("palace", ["add", "--wing", "w", "the only note"]);
  const { stdout } = await palace.run("palace", ["history", "--json"]);
  const [entry] = (JSON.parse(stdout) as { entries: { agent: string; seq: number }[] }).entries;
  const { agent = "", seq = 0 } = entry ?? {};
  const undo = (row: number) =>
    palace.run("palace", ["history", "undo", "--client", agent, "--since", "1h", "--seq", String(row), "--yes"]);
  for (const row of [seq + 1, seq]) {
    const refused = await undo(row);
    expect(refused.stderr).toContain("the broker is too old for --seq");
    expect(refused.code).not.toBe(0);
  }
  expect(await notes(palace)).toBe(1);
  older.kill("SIGTERM");
  await exitOf(older);

  await palace.startBroker();
  const other = await undo(seq + 1);
  expect(other.stderr).toContain("has written nothing since then");
  const undone = await undo(seq);
  expect(undone, undone.stderr).toMatchObject({ code: 0 });
  expect(await notes(palace)).toBe(0);
});
