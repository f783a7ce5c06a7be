import { expect, test } from "vitest";
import { outcomeDocument, printOutcome } from "../../../src/cli/report/wiring.ts";
import type { Outcome } from "../../../src/agents/install/install.ts";
import type { Change } from "../../../src/agents/install/plan.ts";

const change = (kind: Change["kind"], path: string, next: string): Change => ({
  ...{ path, target: path, kind, action: "write", note: undefined, needsBackup: false, isOurs: false },
  ...{ current: undefined, next: Buffer.from(next) },
});
const outcome: Outcome = {
  changes: [change("merge", "/a/config.json", '{"mcp":{}}\n'), change("own", "/a/palace.js", "one;\n".repeat(2_000))],
  ...{ backups: new Map(), elsewhere: [], blocked: undefined },
};

test("a dry run of palace install shows the changed lines of a settings file, and one line for a plugin", () => {
  const said: string[] = [];
  printOutcome({ text: (line: string) => said.push(line), notice: () => {} } as never, outcome, true);
  const lines = said.join("\n").split("\n");
  expect(lines).toContain('+{"mcp":{}}');
  expect(lines.filter((line) => line.includes("palace.js"))).toEqual([
    "  to write  /a/palace.js (2000 lines, all of them ours)",
  ]);
  expect(lines.length).toBeLessThan(20);
  expect(outcomeDocument(outcome, true)["diff"]).not.toContain("one;");
});
