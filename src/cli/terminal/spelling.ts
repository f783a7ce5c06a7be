/** Rewrites `palace` in hints to the form that works on this machine, for example to a launcher's path in a clone. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { quoted } from "../../base/shell-word.ts";
import { WORDS } from "../commands/table.ts";
import { PACKAGE_ROOT } from "../executable.ts";

const UPSTREAM_VERBS = [
  ...["init", "mine", "sweep", "search", "status", "wake-up", "sync", "repair", "repair-status", "migrate", "hook"],
  ...["instructions", "mcp"],
];

/** Folder of the launchers; the package that npm installs has none. */
const SCRIPTS = join(PACKAGE_ROOT, "scripts");
/** Matches quoted text: a name or data of the user, which must not be rewritten. */
const QUOTED = /"(?:[^"\\]|\\.)*"|(?<=^|[\s(=:])'[^']*'(?=$|[\s.,;:)])/;
/** Makes a pattern of our verbs, because the word "palace" is our command only if a verb follows it. */
const words = (verbs: readonly string[]): string => [...verbs].sort((a, b) => b.length - a.length).join("|");
/** Verbs that hints rewrite. `gate` always runs on the other machine. */
const HERE = WORDS.filter((verb) => verb !== "gate");
const AFTER = `(?= (?:${words(HERE)}|help|--help|--palace|VERB)(?![\\w-]))`;
const COMMAND = `(?<![\\w./-])(?:palace${AFTER}|mempalace(?= (?:${words(UPSTREAM_VERBS)}|--help)(?![\\w-])))`;
const PIECES = new RegExp(`${QUOTED.source}|${COMMAND}`, "g");

/** Returns a hint with commands that can be pasted. `palace`: the folder named by --palace. */
export function spelled(hint: string, palace?: string): string {
  const isUsage = hint.startsWith("usage: ");
  return hint.replace(PIECES, (piece: string, at: number) => {
    if (piece !== "palace" && piece !== "mempalace") return piece;
    const isNamed = /^[^`;\n]*?--palace\b/.test(hint.slice(at));
    const where = palace === undefined || isUsage || isNamed ? "" : ` --palace ${quoted(palace)}`;
    return `${commandName(piece)}${where}`;
  });
}

/** Returns the command for an agent's MCP settings. It works in any folder. `palace`: absolute path of a named palace. */
export function mcpEntry(palace?: string): string {
  const launcher = join(SCRIPTS, "palace");
  const shim = existsSync(launcher) ? `${quoted(launcher)} shim` : "mp-shim";
  return palace === undefined ? shim : `${shim} --palace ${quoted(palace)}`;
}

function commandName(name: "palace" | "mempalace"): string {
  const launcher = join(SCRIPTS, name);
  if (!existsSync(launcher)) return name;
  return process.cwd() === PACKAGE_ROOT ? `./scripts/${name}` : launcher;
}
