/** Tests that no session's end is lost if the process that files it is killed at any step: the next process files it. */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const STEPS = ["marked", "taken", "held", "begun", "filed", "done"];

/** Writes a session of Claude Code, and returns the text of its last answer. */
function writeSession({ home }: TestPalace, id: string): string {
  const line = (n: number, role: string, content: unknown): string =>
    `${JSON.stringify({ type: role, uuid: `${id}-${role}-${n}`, sessionId: id, cwd: "/home/ada/fern", timestamp: "2026-01-01T00:00:00Z", message: { role, content } })}\n`;
  const turn = (n: number): string =>
    line(n, "user", `Question ${n} of ${id}`) + line(n, "assistant", [{ type: "text", text: `Answer ${n} of ${id}` }]);
  const transcript = join(home, ".claude/projects/-home-ada-fern", `${id}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  writeFileSync(transcript, [0, 1, 2].map(turn).join(""));
  return `Answer 2 of ${id}`;
}

function file(palace: TestPalace, session: string, fault?: string): ReturnType<TestPalace["run"]> {
  const args = ["hook", "file", "--from", "claude-code", "--session", session];
  return palace.run("palace", args, { env: fault === undefined ? {} : { MEMPALACE_FAULT: fault } });
}

test("the session of a process that is killed at any step is filed by the next process, which files another session", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const filing = join(palace.config.paths.stateDir, "filing");
  const client = await palace.client();
  const isFiled = async (text: string): Promise<boolean> => {
    const found = (await client.callTool("mempalace_search", { query: text, limit: 20 })) as {
      results?: { text: string }[];
    };
    return (found.results ?? []).some((hit) => hit.text.includes(text));
  };
  for (const [at, step] of STEPS.entries()) {
    const [killed, next] = [`killed-${at}`, `next-${at}`];
    const [last, other] = [writeSession(palace, killed), writeSession(palace, next)];
    const { code } = await file(palace, killed, `filing.${step}`);
    expect({ step, code }).toEqual({ step, code: null });
    // Makes the files look old, because a new empty file could belong to a process that is about to write its pid.
    const longAgo = Date.now() / 1000 - 60;
    for (const name of readdirSync(filing)) utimesSync(join(filing, name), longAgo, longAgo);
    expect((await file(palace, next)).code).toBe(0);
    expect({ step, isFiled: await isFiled(last) }).toEqual({ step, isFiled: true });
    expect(await isFiled(other)).toBe(true);
    expect(readdirSync(filing).filter((name) => !name.endsWith(".pid"))).toEqual([]);
  }
  client.close();
});
