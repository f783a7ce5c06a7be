/** A pipe named mempalace.yaml blocked the broker's only miner, and a link of that name was followed out of the project. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readProject } from "../../src/feeders/doc-miner/project.ts";
import { ROOT } from "../helpers/palace.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "project-file-")));
  mkdirSync(join(folder, "project"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const refusal = async (): Promise<unknown> =>
  readProject(join(folder, "project"), undefined).then(
    ({ wing }) => wing,
    (error: unknown) => (error as Error).message,
  );

test("the project file may be a link inside the project, but not a link to the outside", async () => {
  writeFileSync(join(folder, "private.yaml"), "wing: what stands elsewhere\n");
  symlinkSync(join(folder, "private.yaml"), join(folder, "project/mempalace.yaml"));
  expect(await refusal()).toBe("mempalace.yaml cannot be used: it is a link to a file outside the folder");
  rmSync(join(folder, "project/mempalace.yaml"));
  writeFileSync(join(folder, "project/settings.yaml"), "wing: own\n");
  symlinkSync("settings.yaml", join(folder, "project/mempalace.yaml"));
  expect(await refusal()).toBe("own");
});

test("a folder or a large file in place of mempalace.yaml is refused, and a missing file is accepted", async () => {
  mkdirSync(join(folder, "project/mempalace.yaml"));
  expect(await refusal()).toBe("mempalace.yaml cannot be used: it is not a regular file");
  rmSync(join(folder, "project/mempalace.yaml"), { recursive: true });
  writeFileSync(join(folder, "project/mempalace.yaml"), " ".repeat(300_000));
  expect(await refusal()).toBe("mempalace.yaml cannot be used: it is too large for a file of settings");
  rmSync(join(folder, "project/mempalace.yaml"));
  expect(await refusal()).toBe("project");
});

test("a pipe in place of mempalace.yaml is refused without waiting", () => {
  execFileSync("mkfifo", [join(folder, "project/mempalace.yaml")]);
  const module = pathToFileURL(join(ROOT, "src/feeders/doc-miner/project.ts")).toString();
  const program = `
    const { readProject } = await import("${module}");
    await readProject(${JSON.stringify(join(folder, "project"))}).catch((error) => console.log(error.message));`;
  const { stdout, signal } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    timeout: 30_000,
  });
  expect({ stdout, signal }).toEqual({
    stdout: "mempalace.yaml cannot be used: it is not a regular file\n",
    signal: null,
  });
});
