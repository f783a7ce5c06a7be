/** The door for programs that speak Roampal's HTTP API, for `palace doctor`. Imported by checks.ts. */
import type { StatusReport } from "../../protocol/spec.ts";
import { printable } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";

/** Nothing where it was not asked for. */
export function checkOutcomeDoor({ outcomeDoor: door }: Pick<StatusReport, "outcomeDoor">): Check[] {
  if (door === undefined) return [];
  const who = door.isLocal
    ? "your own programs need no token"
    : "for programs with a token; Roampal's own hooks, plugins and MCP server can send none: palace outcome door --local";
  if (door.state === "open") return [ok("outcome door", `open at ${addressOf(door)}: ${who}`)];
  return [warn("outcome door", `${addressOf(door)} is shut: ${printable(door.why)}`, door.hint)];
}

export function addressOf({ port }: { port: number }): string {
  return `http://127.0.0.1:${port}`;
}
