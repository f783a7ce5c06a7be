/** Proves that the package is complete: installs its tarball in another folder and runs it there with an empty home. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "zx";
import { ROOT, type RunOptions, runAsMain } from "./main.ts";

export async function run({ env, log, print, signal }: RunOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "palace-pack-"));
  const [place, home] = [join(folder, "elsewhere"), join(folder, "home")];
  const bin = join(place, "node_modules", ".bin");
  const inPlace = $({ cwd: place, env: foreignEnv(env, home, bin), signal, quiet: true, nothrow: true });
  try {
    mkdirSync(place);
    mkdirSync(home);
    log("packing ...");
    await $({ cwd: ROOT, env, signal, quiet: true })`npm pack --pack-destination ${folder}`;
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
    log(`installing ${tarball} (${megabytes(statSync(join(folder, tarball)).size)}) elsewhere ...`);
    writeFileSync(join(place, "package.json"), "{}");
    // Sets `cwd` instead of --prefix, because npm also looks for its global settings in the folder of --prefix.
    const quietly = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    await $({ cwd: place, env, signal, quiet: true })`npm install ${quietly} ${join(folder, tarball)}`;

    const help = await inPlace`palace --help`;
    log(`palace --help: exit ${help.exitCode}`);
    const doctor = await inPlace`palace doctor --json`;
    log(`palace doctor: exit ${doctor.exitCode}`);
    if (doctor.exitCode !== 0) log(`${doctor.stdout}${doctor.stderr}`.trim());
    print(`installed size without the model: ${megabytes(sizeOf(join(place, "node_modules")))}`);
    return help.exitCode === 0 && doctor.exitCode === 0 ? 0 : 1;
  } finally {
    // The doctor may have started a broker in the new home. If none runs, `palace stop` fails without harm.
    await $({ cwd: place, env: foreignEnv(env, home, bin), quiet: true, nothrow: true })`palace stop`;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the environment of a new user: an empty home and none of our variables. */
function foreignEnv(env: RunOptions["env"], home: string, bin: string): NodeJS.ProcessEnv {
  const foreign = Object.entries(env).filter(([name]) => !/^(MEMPAL|XDG_|npm_)/.test(name));
  return { ...Object.fromEntries(foreign), HOME: home, PATH: `${bin}:${env["PATH"] ?? ""}`, MEMPALACE_OFFLINE: "1" };
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

if (import.meta.main) await runAsMain(run);
