/** The sh launchers of scripts/, run as a user runs them: from anywhere, with little on PATH. */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { execaSync } from "execa";
import { afterAll, expect, test } from "vitest";
import { ROOT } from "../../../scripts/main.ts";

const folder = mkdtempSync(join(tmpdir(), "palace-launcher-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const launch = (name: string, args: string[], path: string) =>
  execaSync(join(ROOT, "scripts", name), args, {
    cwd: folder,
    env: { HOME: folder, PATH: path },
    extendEnv: false,
    reject: false,
  });

const withNode = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);

test.each(["up", "test", "palace"])("scripts/%s prints its help from any folder, with an empty home", (name) => {
  const { exitCode, stdout, stderr } = launch(name, ["--help"], withNode);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^usage: |palace VERB/i);
});

test("without Node and npm a launcher says what to install, and keeps stdout clean", () => {
  for (const tool of ["dirname", "uname", "find", "mkdir"]) {
    const { stdout } = execaSync("sh", ["-c", `command -v ${tool}`]);
    symlinkSync(stdout, join(folder, tool));
  }
  const { exitCode, stdout, stderr } = launch("palace", ["status"], folder);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain("hint: install Node 24");
});

test("an unknown option is an error with the next command", () => {
  const { exitCode, stderr } = launch("up", ["--sideways"], withNode);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("hint: ./scripts/up --help");
});
