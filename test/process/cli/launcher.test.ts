/** The sh launchers of scripts/, run as a user runs them: from anywhere, with little on PATH. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
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

/** A clone in which the sources and what is built of them say which of them runs. */
function makeClone(): string {
  const clone = mkdtempSync(join(folder, "clone-"));
  for (const name of ["scripts", "src/bin", "dist/bin", "node_modules"])
    mkdirSync(join(clone, name), { recursive: true });
  for (const name of ["palace", "node.sh"]) cpSync(join(ROOT, "scripts", name), join(clone, "scripts", name));
  for (const name of ["package-lock.json", "tsconfig.json", "tsconfig.build.json"])
    writeFileSync(join(clone, name), "{}");
  writeFileSync(join(clone, "node_modules/.palace-lock"), execFileSync("cksum", { input: "{}" }));
  writeFileSync(join(clone, "src/bin/palace.ts"), "console.log(`sources ${process.argv[2]}`);");
  writeFileSync(join(clone, "dist/bin/mp-shim.cjs"), "console.log('built');");
  const future = Date.now() / 1000 + 60;
  utimesSync(join(clone, "dist/bin"), future, future);
  return clone;
}

const shimOf = (clone: string, ...args: string[]): string =>
  execaSync(join(clone, "scripts/palace"), ["shim", ...args], {
    ...{ cwd: folder, env: { HOME: folder, PATH: withNode }, extendEnv: false },
  }).stdout;

test("scripts/palace shim runs what is built, and the sources where that is missing, older than they are or asked for more", () => {
  const clone = makeClone();
  expect(shimOf(clone)).toBe("built");
  expect(shimOf(clone, "--help")).toBe("sources shim");
  const later = Date.now() / 1000 + 120;
  utimesSync(join(clone, "src/bin/palace.ts"), later, later);
  expect(shimOf(clone)).toBe("sources shim");
  rmSync(join(clone, "dist"), { recursive: true });
  expect(shimOf(clone)).toBe("sources shim");
});
