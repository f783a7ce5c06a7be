import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { dumpChroma, fillChroma } from "../../helpers/python-chroma.ts";
import { mempalaceMissing, python, runMempalace } from "../../helpers/python-mempalace.ts";

const VERSION = "3.11.0";

describe.skipIf((await mempalaceMissing(VERSION)) !== undefined)("a question to Python", () => {
  it("each Python script of a test runs in a new process, sees the palace as it is on disk, and its failure fails the test", async () => {
    const home = mkdtempSync(join(tmpdir(), "palace-"));
    const ask = (code: string, ...args: string[]): Promise<string> => python(VERSION, home, code, args);
    try {
      const palace = join(home, "palace");
      await fillChroma(VERSION, home, palace, { rows: 10, syncThreshold: 1_000 });
      const before = await dumpChroma(VERSION, home, palace);
      expect(before.get("drawer_1")).toMatchObject({ text: "text number 1 of many", metadata: { chunk_index: 1 } });
      expect(before.get("drawer_1")?.vector).toHaveLength(384);

      // Changes the file directly, as a broker does.
      const database = new Database(join(palace, "chroma.sqlite3"));
      database.exec("UPDATE embedding_metadata SET string_value = 'ours' WHERE string_value = 'text number 1 of many'");
      database.close();
      expect((await dumpChroma(VERSION, home, palace)).get("drawer_1")?.text).toBe("ours");
      // Makes another palace in the same folder.
      rmSync(palace, { recursive: true });
      await fillChroma(VERSION, home, palace, { rows: 12, syncThreshold: 1_000 });
      expect((await dumpChroma(VERSION, home, palace)).size).toBe(before.size + 2);

      const pids = await Promise.all([1, 2].map(() => ask("import os; print(os.getpid())")));
      expect(new Set(pids).size).toBe(2);
      expect(await ask("import os, sys; print(os.environ['HOME'], sys.argv[1:])", "ä", "b")).toBe(
        `${home} ['ä', 'b']\n`,
      );
      await expect(ask("print('so far'); raise ValueError('no')")).rejects.toThrow(/ended with 1:[^]*ValueError: no/);
      await expect(ask("import os; os.kill(os.getpid(), 9)")).rejects.toThrow(/ended with -9/);
      expect(await ask("print('still there')")).toBe("still there\n");
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it("two Python scripts of a test run at the same time, each in a process without MemPalace's modules, other threads or input", async () => {
    const home = mkdtempSync(join(tmpdir(), "palace-"));
    // Each process waits until the other process has started.
    const meet = `
import os, sys, time
open(sys.argv[1], "w").close()
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
print([name for name in sys.modules if "mempalace" in name], len(os.listdir("/proc/self/task")), repr(sys.stdin.read()))`;
    const [one, two] = [join(home, "one"), join(home, "two")];
    try {
      const answers = [python(VERSION, home, meet, [one, two]), python(VERSION, home, meet, [two, one])];
      expect(await Promise.all(answers)).toEqual(["[] 1 ''\n", "[] 1 ''\n"]);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it("a command of MemPalace runs with its own home and environment, and its exit code is returned", async () => {
    const homes = ["a", "b"].map((name) => mkdtempSync(join(tmpdir(), `palace-${name}-`)));
    try {
      for (const home of homes) {
        const status = await runMempalace(VERSION, ["status"], { home });
        expect(status.output).toContain(home);
        const elsewhere = { MEMPALACE_PALACE_PATH: join(home, "elsewhere") };
        expect((await runMempalace(VERSION, ["status"], { home, env: elsewhere })).output).toContain("elsewhere");
      }
      expect(await runMempalace(VERSION, ["unheard"], { home: homes[0] ?? "" })).toMatchObject({ code: 2 });
    } finally {
      for (const home of homes) rmSync(home, { recursive: true });
    }
  });
});
