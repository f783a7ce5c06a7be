/** Packs our devcontainer Feature with the official CLI, without Docker. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ROOT } from "../../scripts/main.ts";
import { fetchDevcontainersCli } from "../helpers/devcontainers-cli.ts";

const SOURCE = join(ROOT, ".devcontainer/palace");
const folder = mkdtempSync(join(tmpdir(), "palace-feature-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Feature = { id: string; version: string; options: Record<string, { default: string; enum?: string[] }> };

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, "utf8")) as T;
}

test("the official CLI packs the Feature with our package and an executable install.sh", () => {
  const [copy, packed] = [join(folder, "palace"), join(folder, "packed")];
  cpSync(SOURCE, copy, { recursive: true, filter: (path) => !/\.(tgz|crt)$/.test(path) });
  const silently = ["--silent", "--ignore-scripts"];
  const tarball = execFileSync("npm", ["pack", ...silently, "--pack-destination", copy], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const cli = fetchDevcontainersCli();
  execFileSync("node", [cli, "features", "package", copy, "--output-folder", packed], { stdio: "pipe" });

  const { features } = readJson<{ features: Feature[] }>(join(packed, "devcontainer-collection.json"));
  expect(features).toEqual([readJson(join(SOURCE, "devcontainer-feature.json"))]);
  const archive = join(packed, "devcontainer-feature-palace.tgz");
  const listed = execFileSync("tar", ["tvf", archive], { encoding: "utf8" });
  for (const name of ["README.md", "devcontainer-feature.json", tarball.trim()])
    expect(listed).toContain(`./${name}\n`);
  expect(listed).toMatch(/^-rwxr-xr-x .* \.\/install\.sh$/m);
});

test("the Feature has the package's version, and its README has every option with its default", () => {
  const { version, options } = readJson<Feature>(join(SOURCE, "devcontainer-feature.json"));
  expect(version).toBe(readJson<{ version: string }>(join(ROOT, "package.json")).version);
  const readme = readFileSync(join(SOURCE, "README.md"), "utf8");
  for (const [name, option] of Object.entries(options)) {
    const usual = option.default === "" ? "empty" : `\`${option.default}\``;
    const row = readme.split("\n").find((line) => line.startsWith(`| \`${name}\` | ${usual} |`));
    for (const value of option.enum ?? []) expect(row, name).toContain(`\`${value}\``);
    expect(row, name).toBeDefined();
  }
});
