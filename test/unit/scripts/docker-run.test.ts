/** Tests the names of the tests' containers. A name contains the test's process; the cleanup removes containers of ended processes. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dockerName, isLeftover } from "../../helpers/docker-run.ts";

const HELPER = join(import.meta.dirname, "../../helpers/docker-run.ts");

test("only a container of an ended process counts as a leftover", () => {
  const script = `import { dockerName } from ${JSON.stringify(HELPER)}; console.log(dockerName("box"));`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(stdout).toMatch(/^palace-run-.*-box\n$/);
  expect(isLeftover(stdout.trim())).toBe(true);
  expect(isLeftover(dockerName("box"))).toBe(false);
});

test("a reused process id does not protect the leftovers of its first owner", () => {
  const [, start = ""] = /-(\d+)-box$/.exec(dockerName("box")) ?? [];
  expect(isLeftover(dockerName("box").replace(`-${start}-`, "-1-"))).toBe(true);
});

test("the cleanup keeps a container with another kind of name, and a container from another process namespace", () => {
  expect(isLeftover("devbox-palace")).toBe(false);
  expect(isLeftover("palace-run-1-2-3-box")).toBe(false);
});
