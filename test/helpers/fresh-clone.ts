/** Makes a newcomer's environment: a clone of HEAD, an empty home, a Node that is too old, and a network without a way out. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { execa } from "execa";
import { ROOT } from "../../scripts/main.ts";
import { processesWith } from "./palace.ts";
import { openStdioMcp, type StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";

export type Output = { code: number | undefined; stdout: string; stderr: string };
export type Variables = Readonly<Record<string, string>>;

export type Newcomer = AsyncDisposable & {
  readonly folder: string;
  readonly home: string;
  readonly clone: string;
  /** Socket at which a test may start a proxy. Commands in the network reach it at `proxyUrl`. */
  readonly proxySocket: string;
  readonly proxyUrl: string;
  /** Runs a command in the network with the newcomer's home as HOME. */
  run: (command: readonly string[], more?: Variables) => Promise<Output>;
  shim: (command: readonly string[], more?: Variables) => Promise<StdioMcp>;
  /** Path of npm's machine-wide settings file for the Node on PATH. The file is empty at first. */
  readonly machineSettings: string;
  /** Lists the files in the newcomer's home, except those below `but`. */
  filesOfHome: (...but: string[]) => string[];
};

const PROXY_PORT = 3128;
const CALL_TIMEOUT_MS = 120_000;
const OLD_NODE = 20;
const OLD_NPM = 10;
const OLD_NODE_PACKAGE = `node_modules/node-linux-${process.arch}`;
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/** Returns why a separate network namespace is impossible here, or undefined if it is possible. */
export function networkMissing(): string | undefined {
  const tried = spawnSync("unshare", ["--net", "ip", "link", "set", "lo", "up"], { encoding: "utf8" });
  if (tried.status === 0) return spawnSync("openssl", ["version"]).status === 0 ? undefined : "there is no openssl";
  return `a network of its own cannot be made: ${tried.error?.message ?? tried.stderr.trim()}`;
}

export function readRegistry(): URL {
  return new URL(askNpm("registry"));
}

/** Returns a setting of the machine's npm, or the text `null` if it is not set. */
export function askNpm(setting: string): string {
  return execFileSync("npm", ["config", "get", setting], { encoding: "utf8", cwd: tmpdir(), stdio: "pipe" }).trim();
}

/** Makes the environment. `path` is the part of PATH before the system's own folders; default: an old Node. */
export async function openNewcomer(path?: string): Promise<Newcomer> {
  const folder = mkdtempSync(join(tmpdir(), "palace-newcomer-"));
  const [home, clone, proxySocket] = [join(folder, "home"), join(folder, "clone"), join(folder, "proxy.sock")];
  mkdirSync(home);
  cloneHead(clone);
  const network = spawn(
    "unshare",
    ["--net", process.execPath, join(ROOT, "test/fixtures/lonely-network.ts"), String(PROXY_PORT), proxySocket],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  await once(network.stdout, "data");
  const within = ["nsenter", `--net=/proc/${network.pid}/ns/net`];
  const old = join(folder, "old");
  // npm finds this file two folders above the Node executable.
  const machineSettings = join(old, OLD_NODE_PACKAGE, "etc/npmrc");
  const env = {
    HOME: home,
    LANG: "C.UTF-8",
    PATH: `${path ?? installOldNode(old)}:${SYSTEM_PATH}`,
    npm_config_registry: readRegistry().href,
    ...(path !== undefined && { npm_config_globalconfig: machineSettings }),
  };
  mkdirSync(dirname(machineSettings), { recursive: true });
  writeFileSync(machineSettings, "");
  return {
    ...{ folder, home, clone, machineSettings, proxySocket, proxyUrl: `http://127.0.0.1:${PROXY_PORT}` },
    async run(command, more = {}) {
      const [file = "", ...args] = [...within, ...command];
      const options = {
        cwd: clone,
        env: { ...env, ...more },
        extendEnv: false,
        reject: false,
        stdin: "ignore",
      } as const;
      const { exitCode, stdout, stderr } = await execa(file, args, options);
      return { code: exitCode, stdout, stderr };
    },
    shim: (command, more = {}) =>
      openStdioMcp([...within, ...command], { env: { ...env, ...more }, timeoutMs: CALL_TIMEOUT_MS }),
    filesOfHome: (...but) => filesIn(home).filter((path) => !but.some((place) => `${path}/`.startsWith(`${place}/`))),
    async [Symbol.asyncDispose]() {
      for (const pid of processesWith(home)) process.kill(pid, "SIGKILL");
      network.stdin.end();
      if (network.exitCode === null) await once(network, "exit");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** Clones HEAD. If the sources are not in a repository, copies all files that are neither built nor installed. */
export function cloneHead(clone: string): void {
  if (existsSync(join(ROOT, ".git"))) {
    execFileSync("git", ["clone", "--quiet", "--no-hardlinks", ROOT, clone], { stdio: "pipe" });
    return;
  }
  const made = new Set(["node_modules", "dist"]);
  cpSync(ROOT, clone, { recursive: true, filter: (path) => dirname(path) !== ROOT || !made.has(basename(path)) });
}

/** Installs the old Node from the npm package with its official binary. Returns its folder `bin`. */
function installOldNode(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const wanted = [`node-linux-${process.arch}@${OLD_NODE}`, `npm@${OLD_NPM}`];
  const quietly = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  execFileSync("npm", ["install", ...quietly, ...wanted], { cwd: folder, stdio: "pipe" });
  symlinkSync(join(folder, OLD_NODE_PACKAGE, "bin/node"), join(bin, "node"));
  for (const name of ["npm", "npx"]) symlinkSync(join(folder, `node_modules/npm/bin/${name}-cli.js`), join(bin, name));
  return bin;
}

/** Lists paths relative to the folder: files, links and sockets, but not folders. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}
