/**
 * Emits dist/ from src/ with tsc, bundles the executables whose start time users notice and makes all of them executable.
 * Run by `npm run build`, by prepack, by up.ts and test.ts, and in the image; uses only Node, the compiler and the bundler,
 * so that it works before anything else does.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type InputOptions, type Plugin, rolldown } from "rolldown";
import { build as buildPage } from "vite";
import type { RunOptions } from "./main.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const SHEBANG = "#!/usr/bin/env node";
/**
 * An agent waits for the shim, and a user for the feeder's "nothing to do". Bundled into one file each, they start in
 * half the time. The shim is CommonJS as well, because an ES import of node:fs alone evaluates all its getters, which
 * takes a tenth of the start. Each start compiles them: minifying removes a seventh of the time the shim adds to a bare
 * Node.
 */
const BUNDLED = [
  { name: "mp-shim", format: "cjs", extension: "cjs" },
  { name: "mempalace", format: "esm", extension: "js" },
  { name: "mempalace-docs", format: "esm", extension: "js" },
  { name: "mempalace-session", format: "esm", extension: "js" },
] as const;

/**
 * A broker starts in half the time, and a command in four fifths, if it and each of its threads is one file. They have
 * up to 250 modules, and finding them costs more than compiling them. Packages are not bundled: that saves nothing
 * measurable. The other entries are merged so that the package needs no further module.
 */
const MERGED = [
  ...["bin/palace.js", "bin/mempalace-broker.js", "bin/roampal.js", "bin/library.js", "protocol/spec.js"],
  ...["**/*-thread.js", "broker/door/port-process.js", "mempalace/rebuild/chroma-guard.js"],
  "feeders/format-miner/worker.js",
];

/** These are copied from the package into agents' folders, so each is one file that needs only Node. */
const EXTENSIONS = ["pi", "opencode"];

/** Files are dated by a clock that may be this much behind, ms. */
const CLOCK_STEP_MS = 20;

/** This package looks for its binary beside its own file, so it stays unbundled. */
const NATIVE = ["better-sqlite3"];

/**
 * Builds dist/ without checking types, which `npm run check` does. Checking them here as well would take three times as
 * long, in every clone and image, and change no byte of the output.
 *
 * Returns 0, or the compiler's exit code after its messages were logged. Only a successful build replaces dist/.
 */
export async function run({ env, log }: Pick<RunOptions, "env" | "log">): Promise<number> {
  const fresh = join(root, `dist.new-${process.pid}`);
  const begunAtMs = Date.now() - CLOCK_STEP_MS;
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  try {
    const args = ["-p", join(root, "tsconfig.build.json"), "--outDir", fresh, "--noCheck"];
    const built = spawnSync(process.execPath, [compiler, ...args], { cwd: root, env, encoding: "utf8" });
    if (built.status !== 0) {
      log(`${built.stdout}${built.stderr}`.trim());
      return built.status ?? 1;
    }
    const kept = await bundleAll(fresh);
    for (const file of globSync("**/*.{js,cjs,d.ts}", { cwd: fresh })) if (!kept.has(file)) rmSync(join(fresh, file));
    for (const data of globSync("src/memory/index/static/*.{q4,f16,txt}", { cwd: root }))
      cpSync(join(root, data), join(fresh, relative("src", data)));
    await bundlePage(join(fresh, "ui"));
    cpSync(join(root, "src/agents/skills"), join(fresh, "agents/skills"), { recursive: true });
    // npm packs no package-lock.json, and an image that is built of the package has the same dependencies (src/devbox/folder.ts).
    cpSync(join(root, "package-lock.json"), join(fresh, "package-lock.data.json"));
    makeExecutable(fresh);
    // A source that is edited during the build is newer than dist/bin, so that it is built again.
    utimesSync(join(fresh, "bin"), begunAtMs / 1000, begunAtMs / 1000);
    const dist = join(root, "dist");
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Returns the files of dist/ that are needed: the bundles, and the declarations of the exports. */
async function bundleAll(fresh: string): Promise<Set<string>> {
  const kept = new Set<string>();
  const written = (folder: string, names: readonly string[]): void => {
    for (const name of names) kept.add(relative(fresh, join(folder, name)));
  };
  const bin = join(fresh, "bin");
  const minified = { external: NATIVE, minify: true, plugins: [keepPlaces(bin, fresh)] };
  for (const target of BUNDLED) written(bin, await bundle(bin, target, minified));
  for (const file of globSync(MERGED, { cwd: fresh }))
    written(join(fresh, dirname(file)), await mergeModules(join(fresh, file), fresh));
  for (const agent of EXTENSIONS) {
    await bundleExtension(join(fresh, "agents", agent, "palace.js"));
    kept.add(`agents/${agent}/palace.js`);
  }
  for (const file of declarations(fresh)) kept.add(file);
  return kept;
}

/** Builds the page of `palace ui` with all that it needs: its browser may load nothing from elsewhere. */
async function bundlePage(outDir: string): Promise<void> {
  await buildPage({
    configFile: false,
    root: join(root, "src/ui"),
    base: "/ui/",
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    // The policy of the page refuses files inside of files.
    build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, modulePreload: false, target: "es2022" },
  });
}

/** Returns the declarations that a program of others sees: those of the exports and the ones these import. */
function declarations(fresh: string): Set<string> {
  const exported = Object.values(manifest().exports).filter((file) => file.endsWith(".js"));
  const seen = new Set(exported.map((file) => relative("dist", file).replace(/js$/, "d.ts")));
  // A set's iterator also visits what is added meanwhile.
  for (const file of seen)
    for (const [, name = ""] of readFileSync(join(fresh, file), "utf8").matchAll(/"(\.[^"]+)\.[jt]s"/g))
      seen.add(join(dirname(file), `${name}.d.ts`));
  return seen;
}

/** Lazy imports stay separate files; everything is written to the entry's folder. Returns the names of the files. */
async function bundle(
  folder: string,
  { name, format, extension }: Readonly<{ name: string; format: "cjs" | "esm"; extension: string }>,
  { minify = false, ...options }: Pick<InputOptions, "external" | "plugins"> & { minify?: boolean },
): Promise<string[]> {
  const input = join(folder, `${name}.js`);
  const bundled = await rolldown({ input, platform: "node", logLevel: "warn", ...options });
  const { output } = await bundled.write({
    dir: folder,
    format,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `${name}-part-[name].${extension}`,
    minify,
    plugins: [builtinsAsTheyAre()],
  });
  await bundled.close();
  return output.map(({ fileName }) => fileName);
}

async function mergeModules(file: string, dist: string): Promise<string[]> {
  const folder = dirname(file);
  const target = { name: basename(file, ".js"), format: "esm", extension: "js" } as const;
  const external = (id: string): boolean => !id.startsWith(".") && !isAbsolute(id);
  return await bundle(folder, target, { external, plugins: [keepPlaces(folder, dist)] });
}

/**
 * Replaces imports of Node's own modules. An ES import reads all that the module exports, and node:http exports a whole
 * HTTP client, which is loaded when it is read.
 */
function builtinsAsTheyAre(): Plugin {
  const imported = /\bimport ?(?:(\w+),? ?)?(\{[^}]*\})? ?from ?["`](node:[\w/]+)["`];/g;
  return {
    name: "builtins-as-they-are",
    renderChunk: (code) =>
      code.replaceAll(imported, (_, whole?: string, names?: string, id?: string) =>
        [whole, names?.replaceAll(" as ", ":")]
          .filter((target) => target !== undefined)
          .map((target) => `const ${target}=process.getBuiltinModule("${id}");`)
          .join(""),
      ),
  };
}

/** Makes a bundled module find its thread, or the package's files, from the module's original place. */
function keepPlaces(folder: string, dist: string): Plugin {
  return {
    name: "keep-places",
    transform(code, id) {
      if (!id.startsWith(dist) || !code.includes("import.meta.url")) return null;
      const url = `new URL(${JSON.stringify(relative(folder, id))}, import.meta.url).href`;
      return { code: code.replaceAll("import.meta.url", url), map: null };
    },
  };
}

/** Replaces the compiler's output. */
async function bundleExtension(file: string): Promise<void> {
  const bundled = await rolldown({ input: file, platform: "node", logLevel: "warn" });
  await bundled.write({ file, format: "esm" });
  await bundled.close();
}

/** npm makes the files of `bin` executable only when it installs them; the clone and the image need it too. */
function makeExecutable(fresh: string): void {
  for (const name of new Set(Object.values(manifest().bin))) {
    const file = join(fresh, relative("dist", name));
    if (!readFileSync(file, "utf8").startsWith(`${SHEBANG}\n`))
      throw new Error(`${name} does not begin with ${SHEBANG}`);
    chmodSync(file, 0o755);
  }
}

function manifest(): { bin: Record<string, string>; exports: Record<string, string> } {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as ReturnType<typeof manifest>;
}

if (import.meta.main) process.exitCode = await run({ env: process.env, log: (line) => console.error(line) });
