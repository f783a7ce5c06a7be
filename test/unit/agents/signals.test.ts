/** Tests which signals (hints that an answer worked or failed) are derived from the tools of a turn. */
import { expect, test } from "vitest";
import { signalsOf as read, type Step, stepOf } from "../../../src/agents/signal/signals.ts";

const ran = (command: string, exit = 0): Step => ({ kind: "ran", command, exit, output: "" });
const EDITED: Step = { kind: "edited" };
const signalsOf = (steps: readonly Step[], named: readonly string[] = []): unknown => read(steps, named);

test("the last test run of a turn decides the signal", () => {
  expect(signalsOf([ran("npm test", 1), EDITED, ran("npm test"), ran("git status")])).toEqual(["tests-passed"]);
  expect(signalsOf([ran("npm test"), EDITED, ran("vitest run", 1)])).toEqual(["tests-failed"]);
  expect(signalsOf([ran("npm test"), EDITED, ran("npm test | tail", 0)])).toEqual([]);
});

test("only the last command of a turn can count as a failed command", () => {
  expect(signalsOf([ran("npm run build", 1), ran("ls")])).toEqual([]);
  expect(signalsOf([ran("npm test"), ran("git push", 1)])).toEqual(["tests-passed", "command-failed"]);
  expect(signalsOf([])).toEqual([]);
});

test.each([
  ["just check", ["tests-passed"], ["tests-failed"]],
  ["CI=1 ./ci/all --fast 2>&1", ["tests-passed"], ["tests-failed"]],
  ["cd app && X=1 timeout 60 uv run check -k x", ["tests-passed"], []],
  ["set -o pipefail; just check | tail -5", ["tests-passed"], ["tests-failed"]],
  ["just check || true", [], []],
  ["just check; echo done", [], []],
  ["just check | tail -5", [], []],
  ["just check --list", [], []],
  ["just checks", [], ["command-failed"]],
  ["just", [], ["command-failed"]],
  ["echo just check", [], ["command-failed"]],
  ["npm test", ["tests-passed"], ["tests-failed"]],
])("with the user's list of test commands, %j gives the expected signals", (line, passed, failed) => {
  const named = ["just  check", "./ci/all", "uv run check"];
  expect([signalsOf([ran(line)], named), signalsOf([ran(line, 1)], named)]).toEqual([passed, failed]);
});

test("a revert gives a signal only before the first edit of the turn", () => {
  expect(signalsOf([ran("git status"), ran("git checkout .")])).toEqual(["reverted"]);
  expect(signalsOf([EDITED, ran("npm test", 1), ran("git checkout .")])).toEqual(["tests-failed"]);
});

test.each([
  ["Bash", { command: "ls" }, 0, ran("ls")],
  ["bash", { command: "ls" }, 2, ran("ls", 2)],
  ["bash", { command: "ls" }, undefined, undefined],
  ["bash", { command: 5 }, 0, undefined],
  ["bash", null, 0, undefined],
  ["Edit", { file_path: "x" }, undefined, EDITED],
  ["apply_patch", {}, 0, EDITED],
  ["Read", { command: "ls" }, 0, undefined],
  [5, { command: "ls" }, 0, undefined],
])("a call of tool %j with input %j and exit code %j is a command, an edit or neither", (tool, input, exit, step) => {
  expect(stepOf(tool, input, exit === undefined ? undefined : { exit, output: "" })).toEqual(step);
});
