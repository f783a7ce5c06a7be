/** The package as users get it: the packed tarball, unpacked where npm would put it, with the dependencies that lie here. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../helpers/palace.ts";
import { MCP_CONFIG } from "./world.ts";

export type Install = { bin: string; config: string };

/** Into `folder`; its `bin` goes to the front of PATH. */
export function installPackage(folder: string): Install {
  const packed = join(folder, "packed");
  const place = join(folder, "lib/node_modules/palace-devbox");
  const bin = join(folder, "bin");
  for (const one of [packed, place, bin]) mkdirSync(one, { recursive: true });
  const npm = join(process.execPath, "../npm");
  execFileSync(npm, ["pack", "--silent", "--ignore-scripts", "--pack-destination", packed], { cwd: ROOT });
  const tarball = readdirSync(packed).find((name) => name.endsWith(".tgz")) ?? "";
  execFileSync("tar", ["-xzf", join(packed, tarball), "-C", place, "--strip-components", "1"]);
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

/** The command line that a configuration names. */
export function shimCommand(config: string): string[] {
  const { mcpServers } = JSON.parse(config) as { mcpServers: { palace: { command: string; args?: string[] } } };
  return [mcpServers.palace.command, ...(mcpServers.palace.args ?? [])];
}
