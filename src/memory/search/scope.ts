/** Determines the project that a search prefers or is limited to, from the client's folder and the call's arguments. */
import type { PlaceFilter } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { cut } from "../../base/shorten.ts";
import { wingsNamed } from "./filter-names.ts";

const SCOPES = ["prefer", "strict", "all"] as const;

/** Wings that a search prefers or is limited to. `told`: the answer's fields about the scope. `missed`: hint for an answer without hits. */
export type Scope = {
  filter: Pick<PlaceFilter, "wings">;
  preferred: ReadonlySet<string>;
  told: { scope?: Record<string, unknown> };
  missed?: string;
};

const EVERYWHERE: Scope = { filter: {}, preferred: new Set(), told: {} };
const UNKNOWN = {
  error: "scope 'strict' needs a project, and this client works in none",
  hint: "pass wing, or leave scope out",
};

/** Returns the scope of a search. A call with `wing` or `cli_compatible` ignores the project. `project`: names, best first. */
export function scopeOf(
  { reader, project = [] }: { reader: Pick<LedgerReader, "places">; project?: readonly string[] },
  { scope: asked, cli_compatible: isForCli }: Record<string, unknown>,
  place: PlaceFilter,
): Scope | { error: string; hint?: string } {
  const scope = SCOPES.find((one) => one === (asked ?? "prefer"));
  if (scope === undefined) return { error: `scope must be one of ('${SCOPES.join("', '")}')` };
  if (scope === "all" || place.wing !== undefined || Boolean(isForCli)) return EVERYWHERE;
  const [name] = project;
  if (name === undefined) return scope === "strict" ? UNKNOWN : EVERYWHERE;
  const wings = wingsNamed(project, [...new Set(reader.places().map((one) => one.wing))]);
  const told = { project: name, wings };
  if (scope === "strict") {
    const named = `project \`${cut(name)}\``;
    const missed = wings.length === 0 ? `no wing belongs to ${named}` : `nothing found in ${named}`;
    return {
      filter: { wings },
      preferred: new Set(),
      told: { scope: { ...told, strict: true } },
      missed: `${missed}; scope=all searches everywhere`,
    };
  }
  if (wings.length === 0) return EVERYWHERE;
  return { filter: {}, preferred: new Set(wings), told: { scope: { ...told, preferred: true } } };
}
