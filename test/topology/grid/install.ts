/** Installs the package as users get it: the packed tarball, unpacked where npm would put it, with the dependencies of this checkout. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../helpers/palace.ts";
import { MCP_CONFIG } from "./world.ts";

export type Install = { bin: string; config: string };

/** Packed tarball, which all worlds of a test file install. */
let packed: Buffer | undefined;

function packPackage(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "palace-packed-"));
  try {
    const npm = join(process.execPath, "../npm");
    execFileSync(npm, ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], { cwd: ROOT });
    return readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Installs into `folder`. The commands are in `folder/bin`, which the caller puts first on PATH. */
export function installPackage(folder: string): Install {
  const place = join(folder, "lib/node_modules/palace-devbox");
  const bin = join(folder, "bin");
  for (const one of [place, bin]) mkdirSync(one, { recursive: true });
  execFileSync("tar", ["-xz", "-C", place, "--strip-components", "1"], { input: (packed ??= packPackage()) });
  symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
  const { bin: commands } = JSON.parse(readFileSync(join(place, "package.json"), "utf8")) as {
    bin: Record<string, string>;
  };
  for (const [name, file] of Object.entries(commands)) {
    chmodSync(join(place, file), 0o755);
    symlinkSync(join(place, file), join(bin, name));
  }
  const config = join(folder, "mcp.json");
  writeFileSync(config, MCP_CONFIG);
  return { bin, config };
}

/** Returns the command line that a configuration names. */
export function shimCommand(config: string): string[] {
  const { mcpServers } = JSON.parse(config) as { mcpServers: { palace: { command: string; args?: string[] } } };
  return [mcpServers.palace.command, ...(mcpServers.palace.args ?? [])];
}
