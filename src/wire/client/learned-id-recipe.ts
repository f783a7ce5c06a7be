/**
 * Learns the palace's id recipe from its answers. A palace uses one of two recipes, which compute a drawer's id from wing, room and text.
 * With the recipe, a write that is spooled in an outage already has its id.
 */
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import type { Paths } from "../../config/paths.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { readText } from "../../base/regular-file.ts";
import { findTool } from "../../protocol/tools/table.ts";
import { parseMessage } from "./send-spooled.ts";
import type { OfflineRules } from "./offline-rules.ts";

type IdRecipe = Parameters<OfflineRules["newDrawerId"]>[0];
const RECIPES: readonly IdRecipe[] = ["v3", "bare"];

/** Stores the recipe if the answer to an add_drawer reveals it. Never throws. */
export function learnIdRecipe({ newDrawerId }: OfflineRules, paths: Paths, request: string, answer: string): void {
  try {
    const params = argumentsOf(request);
    const { content } = (parseMessage(answer) as { result?: { content?: { text?: string }[] } }).result ?? {};
    const { success, reason, drawer_id: id } = parseRecord(content?.[0]?.text ?? "");
    // Learns nothing if the palace already had the text, because the id may then come from another program.
    if (params === undefined || success !== true || reason !== undefined) return;
    const recipe = RECIPES.find((one) => newDrawerId(one, params) === id);
    if (recipe === undefined || recipe === readIdRecipe(paths)) return;
    mkdirSync(paths.stateDir, { recursive: true, mode: 0o700 });
    writeFileAtomic(noteOf(paths), `${recipe}\n`);
  } catch {
    // The next answer reveals the recipe again.
  }
}

/** Returns the id that the drawer of a spooled add_drawer will have; undefined until an answer has revealed the recipe. */
export function promisedId(
  { newDrawerId }: OfflineRules,
  paths: Paths,
  params: Record<string, unknown>,
): string | undefined {
  const recipe = readIdRecipe(paths);
  return recipe === undefined ? undefined : newDrawerId(recipe, params);
}

function readIdRecipe(paths: Paths): IdRecipe | undefined {
  const text = readText(noteOf(paths))?.trim();
  return RECIPES.find((recipe) => recipe === text);
}

/** Returns the file with the recipe. Each palace has its own, as it has its own spool. */
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
