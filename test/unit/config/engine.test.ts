/** Tests MEMPALACE_ENGINE: the accepted values, and the errors for other values, which show the accepted form. */
import { expect, test } from "vitest";
import { loadConfig } from "../../../src/config/config.ts";

const parse = (text: string, more: Record<string, string> = {}) =>
  loadConfig({ HOME: "/home/u", MEMPALACE_ENGINE: text, ...more }).engine;

test("the engine setting accepts builtin, a command with blanks, and a command as a JSON array", () => {
  expect(loadConfig({ HOME: "/home/u" }).engine).toBeUndefined();
  expect(parse("builtin")).toEqual({ kind: "builtin" });
  expect(parse("command: mempalace-mcp  --palace /x ")).toMatchObject({
    kind: "command",
    argv: ["mempalace-mcp", "--palace", "/x"],
    palaceDir: "/x",
    requestTimeoutMs: 120_000,
  });
  expect(parse('command:["/opt/my server","--palace=/y z","$HOME"]')).toMatchObject({
    argv: ["/opt/my server", "--palace=/y z", "$HOME"],
    palaceDir: "/y z",
  });
  expect(parse("command:uvx mempalace", { MEMPALACE_ENGINE_TIMEOUT_SECONDS: "0.5" })).toMatchObject({
    palaceDir: "/home/u/.mempalace/palace",
    requestTimeoutMs: 500,
  });
});

test("the child gets the broker's environment without the engine setting", () => {
  const config = loadConfig({ HOME: "/home/u", MEMPALACE_ENGINE: "command:x", OTHER: "1" }, { palace: "/p" });
  expect(config.engine).toMatchObject({ env: { HOME: "/home/u", OTHER: "1", MEMPALACE_PALACE_PATH: "/p" } });
  expect((config.engine as { env: object }).env).not.toHaveProperty("MEMPALACE_ENGINE");
  expect((parse("command:x") as { env: object }).env).not.toHaveProperty("MEMPALACE_PALACE_PATH");
});

test.each([
  "python",
  "command:",
  "command:./server",
  "command:bin/server",
  `command:server --palace "/a b"`,
  "command:server --palace $HOME/x",
  "command:[1]",
  "command:[]",
  `command:["a`,
])("the engine setting refuses the value %s", (text) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: "CONFIG_BAD_VALUE" }) as Error);
});

test.each(["0", "-1", "soon", "1e9"])("the engine setting refuses a time-out of %s", (seconds) => {
  expect(() => parse("command:x", { MEMPALACE_ENGINE_TIMEOUT_SECONDS: seconds })).toThrow("not a number of seconds");
});
