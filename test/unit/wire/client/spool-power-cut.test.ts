/** Simulates a power cut at every moment of spooling, refusing and resending writes. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Spool } from "../../../../src/wire/client/spool.ts";
import { PowerCut } from "../../../helpers/power-cut.ts";

const FOLDER = "state/palace/spool/tag";

test("a spooled write survives a power cut after the agent got its answer", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "spool-power-")));
  /** Keys of writes that the agent believes to be stored. */
  const safe = new Set<string>();
  /** Key of the write that a person sent again. */
  let again: string | undefined;
  const spool = new Spool(join(root, FOLDER));
  const append = (key: string, tool = "t"): string => {
    const name = spool.append({ atMs: Date.now(), agent: "a", tool, key, line: JSON.stringify({ key }) });
    safe.add(key);
    return name;
  };
  try {
    using disk = new PowerCut(root, {
      look: (folder) => {
        const left = new Spool(join(folder, FOLDER));
        const entries = left.entries();
        const refused = left.refused().map(({ name }) => left.readRefused(name));
        const there = [...entries, ...refused].map((one) => one?.key);
        expect([...safe].filter((key) => !there.includes(key))).toEqual([]);
        if (again !== undefined) expect(entries.map(({ key }) => key)).toContain(again);
        for (const { key, line } of entries) expect(line).toBe(JSON.stringify({ key }));
      },
    });
    const one = append("one");
    disk.cut("after the first write");
    const two = append("two");
    append("turn", "turn.end");
    safe.delete("one");
    spool.remove(one);
    expect(spool.refuse(two, "no")).toBe(true);
    disk.cut("after a refusal");
    append("three");
    const [refused] = spool.refused();
    const write = spool.readRefused(refused?.name ?? "");
    if (write === undefined) throw new Error("the refused write is missing");
    spool.sendAgain(refused?.name ?? "", write);
    again = "two";
    disk.cut("after it was sent again");
    again = undefined;
    for (const name of spool.entries().map((entry) => entry.name)) spool.remove(name);
    safe.clear();
    append("four");
    disk.cut();
    expect(disk.states).toBeGreaterThan(50);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
