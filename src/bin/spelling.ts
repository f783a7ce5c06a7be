/**
 * How the command is typed here: `palace` where npm has put it on the PATH, the launcher's path in a clone, where nothing has.
 * Hints are written with `palace` everywhere, the broker's too, and spelled when they are shown. Imported by verb.ts and verbs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_ROOT } from "./executable.ts";

/** The package that npm installs has no scripts/ in it. */
const LAUNCHER = join(PACKAGE_ROOT, "scripts/palace");
/** Not every "palace" is the command: only one with a verb behind it. */
const COMMAND =
  /(?<![\w./-])palace (?=(?:up|shim|start|stop|restart|status|doctor|logs|demo|search|call|tools|token|bridge|spool|mine|why|jobs|export|repair|repair-status|migrate|--help|VERB)\b)/g;

/** The words of a hint, with a command that works when it is pasted. */
export function spelled(hint: string): string {
  return hint.replace(COMMAND, `${commandName()} `);
}

function commandName(): string {
  if (!existsSync(LAUNCHER)) return "palace";
  return process.cwd() === join(LAUNCHER, "../..") ? "./scripts/palace" : LAUNCHER;
}
