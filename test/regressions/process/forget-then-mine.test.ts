/** Mining skips a transcript as unchanged if some of its drawers remain, which docs/how-to/forget.md did not say. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createOpencodeDatabase, said, assistant, user } from "../../helpers/opencode-database.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 120_000;
const SECRET = "zq7xk9unforgettable4w2v";
const COMMON = "garden";
const TALK = [
  [
    `Where does the wombat keep its code, is it ${SECRET} or another?`,
    "In the garden, in the second drawer of a desk.",
  ],
  ["And where does the other animal sleep at night, please?", "Under the old shed near the garden gate, as ever."],
] as const;

test(
  "mining refiles a source if forget removed all its drawers, and otherwise needs --force",
  { timeout: TIMEOUT_MS },
  async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
    const line = (role: string, content: string): string =>
      `${JSON.stringify({ type: role, message: { role, content } })}\n`;
    const files = (name: string): string => join(palace.home, name);
    mkdirSync(files("convos"));
    mkdirSync(files("docs"));
    writeFileSync(files("convos/a.jsonl"), TALK.map(([q, a]) => line("user", q) + line("assistant", a)).join(""));
    const filler = "A line about the garden that is long enough to be cut somewhere.\n".repeat(40);
    writeFileSync(files("docs/a.md"), `# A\n\n${filler}The code is ${SECRET}.\n${filler}`);
    const database = createOpencodeDatabase(files(".local/share/opencode/opencode.db"));
    database.addSession({ id: "ses_one", title: "The garden" });
    for (const [question, answer] of TALK) {
      database.addMessage("ses_one", ...user(question));
      database.addMessage("ses_one", ...assistant(said(answer)));
    }
    await palace.startBroker();
    const filed = async (args: string[]): Promise<unknown> => {
      const { stdout } = await palace.run("palace", ["mine", ...args, "--json"]);
      return (JSON.parse(stdout) as { filed: unknown }).filed;
    };
    const feeders = [["convos", files("convos")], ["docs", files("docs")], ["projects", files("docs")], ["sessions"]];
    const all = async (...more: string[]): Promise<unknown[]> => {
      const counts: unknown[] = [];
      for (const feeder of feeders) counts.push(await filed([...feeder, ...more]));
      return counts;
    };
    const forget = async (text: string): Promise<void> =>
      expect(await palace.run("palace", ["forget", "--match", text, "--yes"])).toMatchObject({ code: 0 });
    expect(await all()).toEqual([1, 1, 1, 1]);
    await forget(SECRET);
    expect(await all()).toEqual([0, 0, 0, 0]);
    expect(await all("--force")).toEqual([1, 1, 1, 1]);
    expect((await palace.run("palace", ["search", SECRET])).stdout).toContain(SECRET);
    await forget(COMMON);
    expect(await all()).toEqual([1, 1, 1, 1]);
    database.close();
  },
);
