/** Installs broker and shim of 2026-11-22 (commit 45666cd, ledger schema 6) from an archive, with today's dependencies. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openStdioMcp, type StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { ROOT, type TestPalace } from "./palace.ts";

const CALL_TIMEOUT_MS = 120_000;
export const OLDER_SCHEMA = 6;

export type OlderBuild = {
  /** Path of the broker's program for Node. */
  broker: string;
  shim(): Promise<StdioMcp>;
};

export function installOlderBuild({ home, env }: TestPalace): OlderBuild {
  const place = join(home, "older/node_modules/palace-devbox");
  mkdirSync(place, { recursive: true });
  execFileSync("tar", ["-xzf", join(ROOT, "test/fixtures/older-build.tar.gz"), "-C", place]);
  symlinkSync(join(ROOT, "node_modules"), join(home, "node_modules"));
  return {
    broker: join(place, "dist/bin/mempalace-broker.js"),
    shim: () =>
      openStdioMcp([process.execPath, join(place, "dist/bin/mp-shim.cjs")], { env, timeoutMs: CALL_TIMEOUT_MS }),
  };
}
