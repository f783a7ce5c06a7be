/** Compiles src/ into dist/ and bundles it. Uses only Node, the compiler and the bundler, so that it works in a new clone. */
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
 * Executables that become one minified file each, which halves their start time. The shim is CommonJS, because an ES import of node:fs
 * evaluates all its getters, which takes a tenth of the start.
 */
const BUNDLED = [
  { name: "mp-shim", format: "cjs", extension: "cjs" },
  { name: "mempalace", format: "esm", extension: "js" },
  { name: "mempalace-docs", format: "esm", extension: "js" },
  { name: "mempalace-session", format: "esm", extension: "js" },
] as const;

/**
 * Entries that are bundled with our own modules, because Node needs longer to find 250 files than to compile them. npm packages stay
 * separate, because bundling them would save nothing.
 */
const MERGED = [
  ...["bin/palace.js", "bin/mempalace-broker.js", "bin/roampal.js", "bin/library.js", "protocol/spec.js"],
  ...["**/*-thread.js", "broker/door/port-process.js", "mempalace/rebuild/chroma-guard.js"],
  "feeders/format-miner/worker.js",
];

/** Agents whose extension is one file that needs only Node, because it is copied into the agent's folder. */
const EXTENSIONS = ["pi", "opencode"];

/** A new file's date may be earlier than `Date.now()` by up to this time, ms, because the kernel dates files by a coarser clock. */
const CLOCK_STEP_MS = 20;

/** Packages of the tracer. Few users need them, so the build bundles them into a part that is loaded only if tracing is on. */
const TRACING = "@opentelemetry/";

/** Package that stays unbundled, because it looks for its binary beside its own file. */
const NATIVE = ["better-sqlite3"];

/** Builds dist/ without type checks, which would triple the time. Returns the compiler's exit code. A failed build keeps the old dist/. */
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
    cpSync(join(root, "node_modules/@opentelemetry/api/LICENSE"), join(fresh, "base/open-telemetry.LICENSE"));
    cpSync(join(root, "src/agents/skills"), join(fresh, "agents/skills"), { recursive: true });
    // npm packs no package-lock.json, but an image built from the package needs the same dependencies.
    cpSync(join(root, "package-lock.json"), join(fresh, "package-lock.data.json"));
    makeExecutable(fresh);
    // Dates dist/bin at the start of the build, so that a source edited during the build counts as newer.
    utimesSync(join(fresh, "bin"), begunAtMs / 1000, begunAtMs / 1000);
    const dist = join(root, "dist");
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Makes all bundles of src/. Returns the files of dist/ to keep: the bundles and the declarations of the exports. */
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

/** Builds the page of `palace ui` with everything that it needs, because the browser may load nothing from elsewhere. */
async function bundlePage(outDir: string): Promise<void> {
  await buildPage({
    configFile: false,
    root: join(root, "src/ui"),
    base: "/ui/",
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    // The page's content security policy refuses files that are inlined as `data:` URLs.
    build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, modulePreload: false, target: "es2022" },
  });
}

/** Returns the declaration files of the exports, and all declaration files that they import. */
function declarations(fresh: string): Set<string> {
  const exported = Object.values(manifest().exports).filter((file) => file.endsWith(".js"));
  const seen = new Set(exported.map((file) => relative("dist", file).replace(/js$/, "d.ts")));
  // The loop also visits files that are added to the set meanwhile.
  for (const file of seen)
    for (const [, name = ""] of readFileSync(join(fresh, file), "utf8").matchAll(/"(\.[^"]+)\.[jt]s"/g))
      seen.add(join(dirname(file), `${name}.d.ts`));
  return seen;
}

/** Bundles one entry into its folder and returns the names of the files. Lazy imports stay separate files. */
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
  const external = (id: string, importer?: string): boolean =>
    !id.startsWith(".") && !isAbsolute(id) && !id.startsWith(TRACING) && importer?.includes(TRACING) !== true;
  return await bundle(folder, target, { external, plugins: [keepPlaces(folder, dist)] });
}

/** Replaces imports by `process.getBuiltinModule`: an ES import of node:http reads all exports, which loads a whole HTTP client. */
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

/** Keeps a bundled module's `import.meta.url` at its original path, so that the module finds its thread and the package's files. */
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

async function bundleExtension(file: string): Promise<void> {
  const bundled = await rolldown({ input: file, platform: "node", logLevel: "warn" });
  await bundled.write({ file, format: "esm" });
  await bundled.close();
}

/** Makes the files of `bin` executable. npm does so only at an install; the clone and the image need it, too. */
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
