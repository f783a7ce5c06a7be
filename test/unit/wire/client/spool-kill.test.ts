/** Kills a process at every step of spooling a write and of sending a refused write again. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Spool } from "../../../../src/wire/client/spool.ts";

const SOURCES = join(import.meta.dirname, "../../../../src");
const STEPS = ["file.before-write", "file.before-sync", "file.before-rename", "file.after-rename"];
/** Spools three writes and prints each key when the write is safe. */
const AGENT = `
  const [folder, fault] = process.argv.slice(1);
  const { Spool } = await import("${SOURCES}/wire/client/spool.ts");
  const { armFault } = await import("${SOURCES}/base/fault-point.ts");
  const { writeSync } = await import("node:fs");
  armFault(fault);
  for (const key of ["one", "two", "three"]) {
    new Spool(folder).append({ atMs: Date.now(), agent: "killed", tool: "t", key, line: JSON.stringify({ key }) });
    writeSync(1, key + "\\n");
  }
`;

for (const step of STEPS)
  test(`a kill at ${step} of the second write keeps the first write`, () => {
    const folder = mkdtempSync(join(tmpdir(), "spool-kill-"));
    try {
      const argv = ["--input-type=module", "-e", AGENT, folder, `${step}:2`];
      const { signal, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
      expect(signal, stderr).toBe("SIGKILL");
      expect(stdout).toBe("one\n");
      const spool = new Spool(folder);
      const kept = spool.entries();
      expect(kept.map(({ key }) => key)).toEqual(step === "file.after-rename" ? ["one", "two"] : ["one"]);
      for (const { key, line } of kept) expect(line).toBe(JSON.stringify({ key }));
      expect(spool.refused()).toEqual([]);
      // The next agent can spool beside the killed agent's incomplete file.
      spool.append({ atMs: Date.now(), agent: "next", tool: "t", key: "four", line: "{}" });
      expect(spool.entries().map(({ key }) => key)).toContain("four");
      expect(readdirSync(folder).filter((name) => name.endsWith(".tmp")).length).toBe(
        step === "file.after-rename" ? 0 : 1,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

/** Refuses one write and sends it again. */
const PERSON = `
  const [folder, fault] = process.argv.slice(1);
  const { Spool } = await import("${SOURCES}/wire/client/spool.ts");
  const { armFault } = await import("${SOURCES}/base/fault-point.ts");
  const spool = new Spool(folder);
  const name = spool.append({ atMs: Date.now(), agent: "a", tool: "t", key: "one", line: "{}" });
  spool.refuse(name, "no");
  armFault(fault);
  spool.sendAgain(name, spool.readRefused(name));
`;

for (const step of [...STEPS, "spool.before-again"])
  test(`a kill at ${step} of sending a refused write again leaves the write in exactly one folder`, () => {
    const folder = mkdtempSync(join(tmpdir(), "spool-kill-"));
    try {
      const argv = ["--input-type=module", "-e", PERSON, folder, step];
      const { signal, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
      expect(signal, stderr).toBe("SIGKILL");
      const spool = new Spool(folder);
      const refused = spool.refused();
      expect([...spool.entries().map(({ key }) => key), ...refused.map(({ tool }) => tool)]).toEqual(["t"]);
      const aside = join(folder, "refused");
      const tmp = readdirSync(aside).filter((name) => name.endsWith(".tmp"));
      for (const name of tmp) utimesSync(join(aside, name), 0, 0);
      spool.entries();
      const reasons = step === "spool.before-again" ? [] : [`${refused[0]?.name}.why`];
      expect(readdirSync(aside).toSorted()).toEqual([refused[0]?.name, ...reasons]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
