/** Tests how sessions are found and read in folders of Claude Code and pi, from real files that people copied or a crash damaged. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openClaudeCode } from "../../../../src/feeders/session-miner/claude-code.ts";
import { openPi } from "../../../../src/feeders/session-miner/pi.ts";
import type { SessionSource } from "../../../../src/feeders/session-miner/session.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "sessions-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(name: string, lines: readonly (object | string)[], atSeconds: number): void {
  const file = join(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
  utimesSync(file, atSeconds, atSeconds);
}

function textsIn(source: SessionSource): string[][] {
  return source
    .list()
    .map((head) =>
      (source.read(head)?.turns ?? []).flatMap(({ blocks }) =>
        blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])),
      ),
    );
}

test("of two copies of a session in two projects' folders, the newer copy is read", () => {
  const said = (text: string): object => ({ type: "user", uuid: text, message: { role: "user", content: text } });
  // The user renamed the project, copied the session to the new folder and continued there. The old folder sorts last.
  put("-home-u-new-name/one.jsonl", [said("ferns"), said("mosses")], 2_000);
  put("-home-u-old-name/one.jsonl", [said("ferns")], 1_000);
  put("-home-u-old-name/two.jsonl", [said("lichens")], 1_500);
  expect(textsIn(openClaudeCode(root, false))).toEqual([["lichens"], ["ferns", "mosses"]]);
});

test("a damaged line in a session of pi does not hide the messages before it", () => {
  const entry = (id: string, parentId: string | null): object => ({
    ...{ type: "message", id, parentId, timestamp: "2026-01-02T03:04:05Z" },
    message: { role: "user", content: id },
  });
  const head = { type: "session", id: "s", cwd: "/app", timestamp: "2026-01-02T03:04:05Z" };
  put(
    "--app--/s.jsonl",
    [head, entry("a", null), entry("left", "a"), entry("b", "a"), '{"type":"message","id":"c', entry("d", "c")],
    1,
  );
  expect(textsIn(openPi(root))).toEqual([["a", "b", "d"]]);
});
