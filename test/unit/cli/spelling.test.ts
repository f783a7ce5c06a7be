/** Tests that hints show commands as the user must type them on this machine. Names and English words stay unchanged. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { PACKAGE_ROOT } from "../../../src/cli/executable.ts";
import { mcpEntry, spelled } from "../../../src/cli/terminal/spelling.ts";
import { quoted } from "../../../src/base/shell-word.ts";

const PALACE = process.cwd() === PACKAGE_ROOT ? "./scripts/palace" : join(PACKAGE_ROOT, "scripts/palace");

test("a hint shows each command in its text as the user must type the command", () => {
  expect(spelled("run `palace start`; or: palace doctor")).toBe(`run \`${PALACE} start\`; or: ${PALACE} doctor`);
  expect(spelled("MEMPALACE_OFFLINE=0 palace restart")).toBe(`MEMPALACE_OFFLINE=0 ${PALACE} restart`);
  expect(spelled("palace undo --client X")).toBe(`${PALACE} undo --client X`);
  expect(spelled("palace repair-status, then palace --help")).toBe(`${PALACE} repair-status, then ${PALACE} --help`);
});

test("a client's name that looks like a command is not rewritten in a hint", () => {
  for (const name of ["palace call", "palace undo", 'my "palace call" agent', "palace search \\"]) {
    const hint = `who has: ${JSON.stringify(name)}, "mcp"`;
    expect(spelled(hint, "/p")).toBe(hint);
  }
});

test("a folder's name or plain English that looks like a command is not rewritten in a hint", () => {
  for (const text of [
    "ls -ld '/home/me/old palace call/x'",
    "the palace is closed",
    "palace starts",
    "memo-palace start",
  ])
    expect(spelled(text, "/p")).toBe(text);
});

test("a command for another machine keeps its short form", () => {
  expect(spelled("there: palace gate authorize KEY", "/p")).toBe("there: palace gate authorize KEY");
});

test("a hint adds the named palace to a command once and not to a usage line", () => {
  expect(spelled("palace start", "/p")).toBe(`${PALACE} --palace /p start`);
  expect(spelled("palace start", "/a b")).toBe(`${PALACE} --palace '/a b' start`);
  expect(spelled("palace stop --palace /q; palace start", "/p")).toBe(
    `${PALACE} stop --palace /q; ${PALACE} --palace /p start`,
  );
  expect(spelled("usage: palace search QUERY; more: palace search --help", "/p")).toBe(
    `usage: ${PALACE} search QUERY; more: ${PALACE} search --help`,
  );
});

test("the command for an agent's MCP settings has an absolute path", () => {
  expect(mcpEntry()).toBe(`${join(PACKAGE_ROOT, "scripts/palace")} shim`);
  expect(mcpEntry("/a b")).toContain("shim --palace '/a b'");
  expect(quoted("it's")).toBe(`'it'"'"'s'`);
});
