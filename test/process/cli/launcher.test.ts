import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { execa, execaSync } from "execa";
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

test.each(["up", "test", "palace"])(
  "scripts/%s prints its help when it is started in any folder with an empty home",
  (name) => {
    const { exitCode, stdout, stderr } = launch(name, ["--help"], withNode);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^usage: |palace VERB/i);
  },
);

test("a launcher without Node and npm says on stderr what to install, and prints nothing on stdout", () => {
  for (const tool of ["dirname", "uname", "find", "mkdir"]) {
    const { stdout } = execaSync("sh", ["-c", `command -v ${tool}`]);
    symlinkSync(stdout, join(folder, tool));
  }
  const { exitCode, stdout, stderr } = launch("palace", ["status"], folder);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain("hint: install Node 24");
});

test("the help of scripts/test needs no Node, and equals the help of scripts/test.ts", () => {
  symlinkSync(execaSync("sh", ["-c", "command -v cat"]).stdout, join(folder, "cat"));
  const { exitCode, stdout, stderr } = launch("test", ["quick", "--help"], folder);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toBe(execaSync(process.execPath, [join(ROOT, "scripts/test.ts"), "--help"]).stdout);
});

test("a launcher answers an unknown option with an error and the command for its help", () => {
  const { exitCode, stderr } = launch("up", ["--sideways"], withNode);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("hint: ./scripts/up --help");
});

const folders = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)));

/** Makes a clone with a build. Its sources print `sources`, and its build prints `built`. */
function makeClone(): string {
  const clone = mkdtempSync(join(folder, "it's a clone-"));
  for (const name of ["scripts", "dist/bin", "node_modules", ...folders])
    mkdirSync(join(clone, name), { recursive: true });
  for (const name of ["palace", "node.sh", "shim.sh"])
    cpSync(join(ROOT, "scripts", name), join(clone, "scripts", name));
  for (const name of ["package-lock.json", "tsconfig.json", "tsconfig.build.json"])
    writeFileSync(join(clone, name), "{}");
  writeFileSync(join(clone, "node_modules/.palace-lock"), execFileSync("cksum", { input: "{}" }));
  writeFileSync(join(clone, "src/bin/palace.ts"), "console.log(`sources ${process.argv[2]}`);");
  for (const name of ["src/bin/mp-shim.ts", "src/wire/shim.ts"]) writeFileSync(join(clone, name), "");
  writeFileSync(join(clone, "dist/bin/mp-shim.cjs"), "console.log(`built ${process.execPath} ${process.pid}`);");
  setAge(join(clone, "dist/bin"), -60);
  return clone;
}

function setAge(path: string, seconds: number): void {
  const at = Date.now() / 1000 - seconds;
  utimesSync(path, at, at);
}

type Start = { code: number | undefined; pid: number | undefined; stdout: string };

async function shimOf(clone: string, path: string, ...args: string[]): Promise<Start> {
  const env = { HOME: folder, PATH: path };
  const child = execa(join(clone, "scripts/palace"), ["shim", ...args], {
    ...{ cwd: folder, env, extendEnv: false, reject: false },
  });
  const { exitCode: code, stdout } = await child;
  return { code, pid: child.pid, stdout };
}

/** Starts the shim with an empty PATH: only the Node whose full path the launcher remembers can start. */
const startAsNoted = (clone: string): Promise<Start> => shimOf(clone, "");

const builtBy = (node: string): Partial<Start> => ({ stdout: expect.stringContaining(`built ${node} `) as string });

test("scripts/palace shim runs the build, or the sources if they have changed since the build or the build is missing", async () => {
  const changes: ((clone: string) => void)[] = [
    // Replaces the file by a new one, as git does.
    (clone) => {
      rmSync(join(clone, "src/bin/palace.ts"));
      writeFileSync(join(clone, "src/bin/palace.ts"), "console.log(`sources ${process.argv[2]}`);");
      setAge(join(clone, "src/bin"), -120);
    },
    (clone) => setAge(join(clone, "src/wire/shim.ts"), -120),
    (clone) => setAge(join(clone, "tsconfig.json"), -120),
    (clone) => rmSync(join(clone, "dist"), { recursive: true }),
  ];
  for (const change of changes)
    for (const isNoted of [false, true]) {
      const clone = makeClone();
      if (isNoted) expect(await shimOf(clone, withNode)).toMatchObject(builtBy(process.execPath));
      expect((await shimOf(clone, withNode, "--help")).stdout).toBe("sources shim");
      change(clone);
      expect((await shimOf(clone, withNode)).stdout, `${change.toString()} noted: ${isNoted}`).toBe("sources shim");
    }
});

test("the second start of scripts/palace shim becomes Node in the same process and needs no PATH", async () => {
  const clone = makeClone();
  expect((await startAsNoted(clone)).code).not.toBe(0);
  expect(await shimOf(clone, withNode)).toMatchObject(builtBy(process.execPath));
  const second = await startAsNoted(clone);
  expect(second).toMatchObject({ code: 0, stdout: `built ${process.execPath} ${second.pid}` });
});

test("the launcher looks for Node again if the remembered Node was removed or replaced", async () => {
  const clone = makeClone();
  const bin = join(clone, "bin");
  const node = join(bin, "node");
  mkdirSync(bin);
  const replace = (age: number): void => {
    rmSync(node, { force: true });
    copyFileSync(process.execPath, node);
    setAge(node, age);
  };
  const path = [bin, withNode].join(delimiter);
  replace(1_000);
  expect(await shimOf(clone, path)).toMatchObject(builtBy(node));
  for (const age of [500, 1_500]) {
    expect(await startAsNoted(clone)).toMatchObject(builtBy(node));
    replace(age);
    expect((await startAsNoted(clone)).code).not.toBe(0);
    expect(await shimOf(clone, path)).toMatchObject(builtBy(node));
  }
  expect(await startAsNoted(clone)).toMatchObject(builtBy(node));
  rmSync(node);
  expect(await shimOf(clone, path)).toMatchObject(builtBy(process.execPath));
  expect(await startAsNoted(clone)).toMatchObject(builtBy(process.execPath));
});

test.each(["palace", "mempalace", "roampal"])(
  "scripts/%s runs the build, or the sources if the build is missing or older",
  async (name) => {
    const clone = makeClone();
    cpSync(join(ROOT, "scripts", name), join(clone, "scripts", name));
    writeFileSync(join(clone, `src/bin/${name}.ts`), "console.log(`sources ${process.argv[2]}`);");
    const start = async (): Promise<string | undefined> =>
      (
        await execa(join(clone, "scripts", name), ["status"], {
          ...{ cwd: folder, env: { HOME: folder, PATH: withNode }, extendEnv: false, reject: false },
        })
      ).stdout;
    expect(await start()).toBe("sources status");
    writeFileSync(join(clone, `dist/bin/${name}.js`), "console.log(`built ${process.argv[2]}`);");
    setAge(join(clone, "dist/bin"), -60);
    expect(await start()).toBe("built status");
    setAge(join(clone, "src/wire/shim.ts"), -120);
    expect(await start()).toBe("sources status");
  },
);

test("a hook in a clone runs the build, and without dependencies prints nothing and fetches nothing", async () => {
  const clone = makeClone();
  writeFileSync(join(clone, "dist/bin/palace.js"), "console.log(`hook ${process.argv[3]}`);");
  setAge(join(clone, "dist/bin"), -60);
  const bin = join(clone, "bin");
  mkdirSync(bin);
  writeFileSync(
    join(bin, "npm"),
    `#!/bin/sh\necho "$*" >> '${clone.replaceAll("'", String.raw`'\''`)}/npm-called'\nexit 1\n`,
    {
      mode: 0o755,
    },
  );
  const start = async (path: string, ...words: string[]): Promise<{ exitCode?: number; stdout?: string }> =>
    execa(join(clone, "scripts/palace"), words, { env: { HOME: folder, PATH: path }, extendEnv: false, reject: false });
  const path = [bin, withNode].join(delimiter);
  const built = { exitCode: 0, stdout: "hook claude-code" };
  expect(await start(path, "hook", "claude-code")).toMatchObject(built);
  expect(await shimOf(clone, path)).toMatchObject(builtBy(process.execPath));
  expect(await start("", "hook", "claude-code")).toMatchObject(built);

  writeFileSync(join(clone, "package-lock.json"), "{ }");
  setAge(join(clone, "package-lock.json"), -120);
  expect(await start(path, "hook", "claude-code")).toMatchObject({ exitCode: 0, stdout: "" });
  expect(existsSync(join(clone, "npm-called"))).toBe(false);
  // Any other verb fetches the missing dependencies.
  expect((await start(path, "status")).exitCode).not.toBe(0);
  expect(existsSync(join(clone, "npm-called"))).toBe(true);
});
