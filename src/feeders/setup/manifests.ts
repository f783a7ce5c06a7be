/** Reads a project's name from its build manifest, such as package.json. Source: palace.md 5.8. */
import { basename, dirname, join } from "node:path";
import { parseRecord } from "../../base/parse-json.ts";
import { strip } from "../../memory/text/text.ts";
import { readStart } from "./walk.ts";

/** Maximum characters to read from a manifest; people do not write longer ones. */
const CHARS_MAX = 1_000_000;

const GRADLE = [
  /^\s*rootProject\.name\s*=\s*(["'])(?<name>[^"']+)\1/m,
  /^\s*rootProject\.name\.set\(\s*(["'])(?<name>[^"']+)\1\s*\)/m,
];

/** Readers by file name, the most reliable first. */
const READERS: Readonly<Record<string, (path: string) => string | undefined>> = {
  "pyproject.toml": (path) => fromToml(path, "project") ?? fromToml(path, "tool.poetry"),
  "package.json": fromPackageJson,
  "Cargo.toml": (path) => fromToml(path, "package"),
  "go.mod": fromGoMod,
  "pom.xml": fromPom,
  "settings.gradle": fromGradle,
  "settings.gradle.kts": fromGradle,
  "build.gradle": fromGradle,
  "build.gradle.kts": fromGradle,
};
const NAMES = Object.keys(READERS);

/** Returns the rank of a manifest: 0 is the most reliable. Undefined for another file. */
export function manifestRank(file: string): number | undefined {
  const rank = NAMES.indexOf(file);
  return rank < 0 ? undefined : rank;
}

/** Returns true for a Java manifest. A repository may have several of them, each for its own project. */
export function isJava(file: string): boolean {
  return file === "pom.xml" || file.includes(".gradle");
}

export function projectName(path: string): string | undefined {
  const name = READERS[basename(path)]?.(path);
  return name === "" ? undefined : name;
}

function fromPackageJson(path: string): string | undefined {
  const { name } = parseRecord(readStart(path, CHARS_MAX) ?? "");
  return typeof name === "string" ? name : undefined;
}

/** Returns the `name` in one table. Build tools write it on its own line, so this needs no TOML parser. */
function fromToml(path: string, table: string): string | undefined {
  let isInside = false;
  for (const line of (readStart(path, CHARS_MAX) ?? "").split("\n")) {
    const [, header] = /^\s*\[\s*([^[\]]+?)\s*\]\s*(?:#.*)?$/.exec(line) ?? [];
    if (header !== undefined) isInside = header === table;
    const [, , basic, literal] =
      (isInside && /^\s*(name|"name")\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(line)) || [];
    if (literal !== undefined) return literal;
    if (basic !== undefined) return basic.replace(/\\(["\\])/g, "$1");
  }
  return undefined;
}

function fromGoMod(path: string): string | undefined {
  for (const line of (readStart(path, CHARS_MAX) ?? "").split("\n").map(strip))
    if (line.startsWith("module ")) return strip(line.slice("module ".length)).split("/").at(-1);
  return undefined;
}

/** Returns the project's own `artifactId`, not the one of its parent or of a dependency. */
function fromPom(path: string): string | undefined {
  const text = (readStart(path, CHARS_MAX) ?? "").replace(
    /<!--[^]*?-->|<\?[^]*?\?>|<!\[CDATA\[[^]*?\]\]>|<![^>]*>/g,
    "",
  );
  let depth = 0;
  for (const { 1: closing, 2: tag = "", 3: empty, index, 0: whole } of text.matchAll(
    /<(\/?)([^\s<>/]+)[^<>]*?(\/?)>/g,
  )) {
    if (closing === "/") depth -= 1;
    else if (empty !== "/") {
      depth += 1;
      if (depth === 2 && tag.split(":").at(-1) === "artifactId") {
        const start = index + whole.length;
        return strip(text.slice(start, text.indexOf("<", start)));
      }
    }
  }
  return undefined;
}

function fromGradle(path: string): string | undefined {
  const folder = dirname(path);
  const files = basename(path).startsWith("build.") ? ["settings.gradle.kts", "settings.gradle"] : [];
  for (const file of [...files.map((name) => join(folder, name)), path]) {
    const text = readStart(file, CHARS_MAX) ?? "";
    for (const pattern of GRADLE) {
      const name = strip(pattern.exec(text)?.groups?.["name"] ?? "");
      if (name !== "") return name;
    }
  }
  return basename(folder);
}
