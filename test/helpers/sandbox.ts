/** Sandboxes of coding agents: Claude Code's sandbox-runtime, and a preloaded library that refuses sockets as Codex's filter does. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CI_CACHE } from "./python-mempalace.ts";

const RUNTIME = "0.0.83";
/** Programs that sandbox-runtime needs on Linux. */
const PROGRAMS = ["bwrap", "socat", "rg"];

/** Source of a library in which the calls that Codex's filter refuses fail with the errno in REFUSED_ERRNO. */
const LIBRARY = `
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
static int refuse(void) { errno = atoi(getenv("REFUSED_ERRNO")); return -1; }
int connect(int fd, const struct sockaddr *address, socklen_t length) { return refuse(); }
int bind(int fd, const struct sockaddr *address, socklen_t length) { return refuse(); }
int listen(int fd, int backlog) { return refuse(); }
`;

/** Returns why the sandboxes cannot run here, or undefined if both can. With CI=true it throws instead. */
export function sandboxMissing(): string | undefined {
  const reason = whyNot();
  if (reason !== undefined && process.env["CI"] === "true") throw new Error(reason);
  return reason;
}

function whyNot(): string | undefined {
  if (process.platform !== "linux") return "the sandboxes are Linux's";
  for (const program of ["cc", ...PROGRAMS])
    if (!succeeds("sh", "-c", `command -v ${program}`)) return `${program} is not installed`;
  if (!succeeds("bwrap", "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "true"))
    return "bwrap may make no namespaces here";
  return undefined;
}

function succeeds(file: string, ...args: string[]): boolean {
  try {
    execFileSync(file, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Compiles the library in `folder` and returns the environment that preloads it. */
export function refusing(folder: string, errno: number): { LD_PRELOAD: string; REFUSED_ERRNO: string } {
  const file = join(folder, "refuse.so");
  if (!existsSync(file)) {
    writeFileSync(join(folder, "refuse.c"), LIBRARY);
    execFileSync("cc", ["-shared", "-fPIC", "-o", file, join(folder, "refuse.c")]);
  }
  return { LD_PRELOAD: file, REFUSED_ERRNO: String(errno) };
}

/** Returns the path of sandbox-runtime's program. Downloads it at the first call on a machine. */
export function sandboxRuntime(): string {
  const folder = join(CI_CACHE, `sandbox-runtime-${RUNTIME}`);
  if (!existsSync(folder)) {
    const draft = `${folder}.new-${process.pid}`;
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, "package.json"), "{}");
    const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    execFileSync("npm", ["install", ...quietly, `@anthropic-ai/sandbox-runtime@${RUNTIME}`], { cwd: draft });
    renameSync(draft, folder);
  }
  return join(folder, "node_modules/.bin/srt");
}
