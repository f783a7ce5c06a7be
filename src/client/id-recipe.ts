/**
 * How the palace makes drawer ids, as its answers show: each palace has one of two recipes, and both make an id of wing, room and
 * text. It is noted, so that a write which is kept in an outage can tell the id that it will have. Loaded when it happens.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Paths } from "../config/paths.ts";
import { newDrawerId } from "../engine/drawer/drawer.ts";
import { isRecord } from "../platform/is-record.ts";
import { writeFileAtomic } from "../platform/atomic-file.ts";
import { findTool } from "../protocol/tools/table.ts";
import { parseMessage } from "./delivery.ts";

type IdRecipe = Parameters<typeof newDrawerId>[0];
const RECIPES: readonly IdRecipe[] = ["v3", "bare"];

/** Notes what the answer to an add_drawer shows; an answer that shows nothing changes nothing. Never throws. */
export function learnIdRecipe(paths: Paths, request: string, answer: string): void {
  try {
    const params = argumentsOf(request);
    const { content } = (parseMessage(answer) as { result?: { content?: { text?: string }[] } }).result ?? {};
    const { success, reason, drawer_id: id } = JSON.parse(content?.[0]?.text ?? "null") as Record<string, unknown>;
    // A text that was there may have come from elsewhere.
    if (params === undefined || success !== true || reason !== undefined) return;
    const recipe = RECIPES.find((one) => newDrawerId(one, params) === id);
    if (recipe === undefined || recipe === readIdRecipe(paths)) return;
    mkdirSync(paths.stateDir, { recursive: true, mode: 0o700 });
    writeFileAtomic(noteOf(paths), `${recipe}\n`);
  } catch {
    // It is learnt from the next answer.
  }
}

/** The id that the drawer of a kept add_drawer will have; undefined while no answer has shown how this palace makes ids. */
export function promisedId(paths: Paths, params: Record<string, unknown>): string | undefined {
  const recipe = readIdRecipe(paths);
  return recipe === undefined ? undefined : newDrawerId(recipe, params);
}

function readIdRecipe(paths: Paths): IdRecipe | undefined {
  try {
    const text = readFileSync(noteOf(paths), "utf8").trim();
    return RECIPES.find((recipe) => recipe === text);
  } catch {
    return undefined;
  }
}

/** One for each palace, as spools are. */
function noteOf({ spoolDir, stateDir }: Paths): string {
  return join(stateDir, `id-recipe-${basename(spoolDir)}`);
}

function argumentsOf(request: string): Record<string, unknown> | undefined {
  const { method, params } = parseMessage(request);
  const given = params?.["arguments"];
  return method === "tools/call" && findTool(params?.["name"])?.name === "add_drawer" && isRecord(given)
    ? given
    : undefined;
}
