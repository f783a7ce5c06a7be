/** Finds or downloads onnxruntime-node, which runs the models. As a dependency it would make an install four times as large. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { parseJson } from "./parse-json.ts";
import { type PalaceError, unavailable } from "./errors.ts";

export type Runtime = typeof import("onnxruntime-node");

export const RUNTIME = "onnxruntime-node";
const VERSION = "1.30.0";
export const ARCHIVES: Readonly<Record<string, string>> = {
  [`${RUNTIME}@${VERSION}`]:
    "sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==",
  [`onnxruntime-common@${VERSION}`]:
    "sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==",
};
const FOLDER = `${RUNTIME}-${VERSION}`;
const DRAFT = ".draft-";
/** Age above which a draft (the folder of a download) is a leftover of a killed download. */
const DRAFT_AGE_MAX_MS = 60 * 60_000;
const SAID_MAX_CHARS = 400;

export type FetchOptions = { env: NodeJS.ProcessEnv; signal: AbortSignal };

/** Returns the runtime's main file, or undefined if the runtime is missing. `cacheDir`: the models' folder in our cache. */
export function findRuntime(cacheDir: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(RUNTIME);
  } catch {
    const main = join(cacheDir, FOLDER, "node_modules", RUNTIME, "dist/index.js");
    return existsSync(main) ? main : undefined;
  }
}

/** Errors: STORE_UNAVAILABLE if the runtime's library does not load. */
export function importRuntime(file: string): Runtime {
  try {
    return createRequire(import.meta.url)(file) as Runtime;
  } catch (cause) {
    const why = `the models' runtime ${RUNTIME} does not load on this machine: ${String(cause)}`;
    throw unavailable(why, "palace doctor", cause);
  }
}

/** Downloads the runtime, checks its digests and deletes other platforms' libraries. A kill leaves a draft. Errors: STORE_UNAVAILABLE. */
export async function fetchRuntime(cacheDir: string, { env, signal }: FetchOptions): Promise<void> {
  // The PATH of a service may lack npm, which is in Node's own folder.
  const around = { env: { ...env, PATH: `${dirname(process.execPath)}:${env["PATH"] ?? ""}` }, signal };
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
  removeOldDrafts(cacheDir);
  const draft = mkdtempSync(join(cacheDir, DRAFT));
  try {
    // `npm pack` downloads an archive with the user's npm settings (registry, proxy) and runs no scripts.
    const pack = ["pack", "--json", "--ignore-scripts", "--loglevel=error", ...Object.keys(ARCHIVES)];
    for (const { id, name, filename } of readPacked(await run("npm", pack, draft, around))) {
      const archive = join(draft, filename);
      const digest = createHash("sha512").update(readFileSync(archive)).digest("base64");
      if (`sha512-${digest}` !== ARCHIVES[id])
        throw refusal(`${id} is not the archive that is pinned: sha512-${digest}`);
      const target = join(draft, FOLDER, "node_modules", name);
      mkdirSync(target, { recursive: true });
      await run("tar", ["-xzf", archive, "--strip-components=1", "--no-same-owner", "-C", target], draft, around);
    }
    removeForeign(join(draft, FOLDER, "node_modules", RUNTIME, "bin"));
    rmSync(join(cacheDir, FOLDER), { recursive: true, force: true });
    renameSync(join(draft, FOLDER), join(cacheDir, FOLDER));
    for (const name of readdirSync(cacheDir))
      if (name.startsWith(`${RUNTIME}-`) && name !== FOLDER) rmSync(join(cacheDir, name), { recursive: true });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Removes the drafts of killed downloads, about 300 MB each. */
function removeOldDrafts(cacheDir: string): void {
  for (const name of readdirSync(cacheDir)) {
    const draft = join(cacheDir, name);
    if (name.startsWith(DRAFT) && Date.now() - statSync(draft).mtimeMs > DRAFT_AGE_MAX_MS)
      rmSync(draft, { recursive: true, force: true });
  }
}

type Packed = { id: string; name: string; filename: string };

function readPacked(said: string): Packed[] {
  const packed = parseJson(said);
  const isPacked = (one: unknown): one is Packed =>
    ["id", "name", "filename"].every((key) => typeof (one as Record<string, unknown> | null)?.[key] === "string");
  if (Array.isArray(packed) && packed.every(isPacked)) return packed;
  throw refusal(`npm pack answered ${said.slice(0, SAID_MAX_CHARS)}`);
}

function removeForeign(bin: string): void {
  const own = globSync(`*/${process.platform}/${process.arch}`, { cwd: bin });
  if (own.length === 0) throw refusal(`it has no library for ${process.platform} on ${process.arch}`);
  for (const folder of globSync("*/*/*", { cwd: bin }))
    if (!own.includes(folder)) rmSync(join(bin, folder), { recursive: true });
}

/** Runs a program and returns its stdout. Errors: STORE_UNAVAILABLE with the end of its stderr. */
async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  { env, signal }: FetchOptions,
): Promise<string> {
  const child = spawn(program, args, { cwd, env, signal, stdio: ["ignore", "pipe", "pipe"] });
  const said = { out: "", error: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (said.error = (said.error + text).slice(-SAID_MAX_CHARS)));
  const [code] = await once(child, "close").catch((error: unknown) => {
    throw signal.aborted ? error : refusal(String(error));
  });
  if (code === 0) return said.out;
  throw refusal(`${program} failed: ${said.error.trim()}`);
}

function refusal(why: string): PalaceError {
  return unavailable(
    `the models' runtime ${RUNTIME} was not fetched: ${why}`,
    "check the network (behind a proxy: npm's own settings), then: palace model get",
  );
}
