/** Fetches the official CLI of devcontainers, which makes containers and packages Features. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const CLI = "@devcontainers/cli@0.89.0";

/** Downloads the CLI into the CI cache at the first call on a machine, and returns its path. */
export function fetchDevcontainersCli(): string {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(process.env["DEVBOX_CI_HOME"] ?? join(cache, "devbox-ci"), "devcontainers-cli-0.89.0");
  if (!existsSync(folder)) {
    const draft = `${folder}.new-${process.pid}`;
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, "package.json"), "{}");
    const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    execFileSync("npm", ["install", ...quietly, CLI], { cwd: draft, stdio: "pipe" });
    renameSync(draft, folder);
  }
  return join(folder, "node_modules/@devcontainers/cli/devcontainer.js");
}
