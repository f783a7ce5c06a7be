/** Makes clones of the sources, and a git worktree as workspace, for the test of `palace devbox`. */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { ROOT } from "../../scripts/main.ts";
import { quoted } from "../../src/base/shell-word.ts";

const SOURCES = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];
const BESIDE = "Dockerfile.base docker-compose.yml .dockerignore README.md CHANGELOG.md LICENSE volumes".split(" ");

export function cloneTo(place: string): void {
  for (const name of [...SOURCES, ...BESIDE]) cpSync(join(ROOT, name), join(place, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
}

/** Makes a repository and its worktree on branch `feature`, writable for the devbox's uid. Gives `home` a git identity. */
export async function makeWorktree(repository: string, worktree: string, home: string): Promise<void> {
  writeFileSync(join(home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n");
  const git = (...args: string[]) => execa("git", ["-C", repository, ...args], { env: { HOME: home } });
  await execa("git", ["init", "--quiet", repository]);
  await git("commit", "--quiet", "--allow-empty", "--message", "begin");
  await git("worktree", "add", "--quiet", "-b", "feature", worktree);
  if (process.getuid?.() === 0) await execa("chown", ["-R", "1000:1000", repository, worktree]);
  await execa("chmod", ["-R", "a+rwX", repository, worktree]);
}

/** Returns the resident's pid. The state folder must contain exactly one bridge. */
export function residentOf(stateHome: string): number {
  const bridges = join(stateHome, "palace/bridge");
  return Number(readFileSync(join(bridges, readdirSync(bridges)[0] ?? "", "lock"), "utf8"));
}

export type Ran = { code: number | undefined; signal: string | undefined; stdout: string; stderr: string };
type Env = Record<string, string | undefined>;

/** Runs `palace devbox` of a clone without a terminal. */
export async function runDevbox(clone: string, args: readonly string[], env: Env): Promise<Ran> {
  const command = [join(clone, "src/bin/palace.ts"), "devbox", ...args];
  const done = await execa(process.execPath, command, { env, cwd: clone, reject: false, stdin: "ignore" });
  return { code: done.exitCode, signal: done.signal, stdout: done.stdout, stderr: done.stderr };
}

/** Runs `palace devbox` of a clone on a terminal, and returns the terminal's output. */
export async function runOnTerminal(clone: string, args: readonly string[], env: Env): Promise<string> {
  const typed = [process.execPath, join(clone, "src/bin/palace.ts"), "devbox", ...args].map(quoted).join(" ");
  const script = ["--quiet", "--return", "--command", typed, "/dev/null"];
  return (await execa("script", script, { env, cwd: clone, reject: false, stdin: "ignore" })).stdout;
}
