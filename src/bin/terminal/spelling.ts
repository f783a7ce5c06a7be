/**
 * How our commands are typed here: `palace` where npm has put it on the PATH, the launchers' paths in a clone, where nothing has;
 * and always for the palace that was spoken of. Hints are written with `palace` everywhere, the broker's too, and spelled when they
 * are shown. Imported by output.ts, verb.ts and palace.ts.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { quoted } from "../../platform/shell-word.ts";
import { PACKAGE_ROOT } from "../executable.ts";

export const PALACE_VERBS = [
  ...[
    "up",
    "shim",
    "start",
    "stop",
    "restart",
    "status",
    "doctor",
    "logs",
    "demo",
    "search",
    "reveal",
    "call",
    "tools",
  ],
  ...[
    "export",
    "backup",
    "verify",
    "restore",
    "repair",
    "repair-status",
    "compact",
    "migrate",
    "jobs",
    "token",
    "bridge",
    "gate",
    "forget",
    "audit",
    "undo",
    "spool",
  ],
  ...["mine", "install", "uninstall", "agents", "closets", "adopt", "logstream", "task", "artifact", "devbox", "hook", "why"],
] as const;

const UPSTREAM_VERBS = [
  ...["init", "mine", "sweep", "search", "status", "wake-up", "sync", "repair", "repair-status", "migrate", "hook"],
  ...["instructions", "mcp"],
];

/** The package that npm installs has no scripts/ in it. */
const SCRIPTS = join(PACKAGE_ROOT, "scripts");
/** What is quoted is somebody's name or data. */
const QUOTED = /"(?:[^"\\]|\\.)*"|(?<=^|[\s(=:])'[^']*'(?=$|[\s.,;:)])/;
/** Not every "palace" is the command: only one with a verb behind it. */
const words = (verbs: readonly string[]): string => [...verbs].sort((a, b) => b.length - a.length).join("|");
/** A gate is the other machine's, wherever it is spoken of. */
const HERE = PALACE_VERBS.filter((verb) => verb !== "gate");
const AFTER = `(?= (?:${words(HERE)}|--help|--palace|VERB)(?![\\w-]))`;
const COMMAND = `(?<![\\w./-])(?:palace${AFTER}|mempalace(?= (?:${words(UPSTREAM_VERBS)}|--help)(?![\\w-])))`;
const PIECES = new RegExp(`${QUOTED.source}|${COMMAND}`, "g");

/** The words of a hint, with commands that work when they are pasted. `palace`: the folder that was named by --palace. */
export function spelled(hint: string, palace?: string): string {
  const isUsage = hint.startsWith("usage: ");
  return hint.replace(PIECES, (piece: string, at: number) => {
    if (piece !== "palace" && piece !== "mempalace") return piece;
    const isNamed = /^[^`;\n]*?--palace\b/.test(hint.slice(at));
    const where = palace === undefined || isUsage || isNamed ? "" : ` --palace ${quoted(palace)}`;
    return `${commandName(piece)}${where}`;
  });
}

/** The command in an agent's MCP entry, which is run from any folder. `palace`: the whole path of a palace that was named. */
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
