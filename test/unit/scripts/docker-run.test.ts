/** Names of what tests make in Docker: only a dead process's own are swept. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dockerName, isLeftover } from "../../helpers/docker-run.ts";

const HELPER = join(import.meta.dirname, "../../helpers/docker-run.ts");

test("what a dead process made is a leftover, what a live one made is not", () => {
  const script = `import { dockerName } from ${JSON.stringify(HELPER)}; console.log(dockerName("box"));`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(stdout).toMatch(/^palace-run-.*-box\n$/);
  expect(isLeftover(stdout.trim())).toBe(true);
  expect(isLeftover(dockerName("box"))).toBe(false);
});

test("a process id that is used again does not keep the leftovers of the first", () => {
  const [, start = ""] = /-(\d+)-box$/.exec(dockerName("box")) ?? [];
  expect(isLeftover(dockerName("box").replace(`-${start}-`, "-1-"))).toBe(true);
});

test("names of others, and of processes that cannot be seen from here, are left alone", () => {
  expect(isLeftover("devbox-palace")).toBe(false);
  expect(isLeftover("palace-run-1-2-3-box")).toBe(false);
});
