/** Learns the palace's id recipe from its answers, so that the answer to a spooled write can contain the future drawer id. */
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

/** Stores the recipe with which the drawer id in an answer to add_drawer was computed. Never throws. */
export function learnIdRecipe({ newDrawerId }: OfflineRules, paths: Paths, request: string, answer: string): void {
  try {
    const params = argumentsOf(request);
    const { content } = (parseMessage(answer) as { result?: { content?: { text?: string }[] } }).result ?? {};
    const { success, reason, drawer_id: id } = parseRecord(content?.[0]?.text ?? "");
    // With a `reason`, the palace already had the text, whose id another program may have made.
    if (params === undefined || success !== true || reason !== undefined) return;
    const recipe = RECIPES.find((one) => newDrawerId(one, params) === id);
    if (recipe === undefined || recipe === readIdRecipe(paths)) return;
    mkdirSync(paths.stateDir, { recursive: true, mode: 0o700 });
    writeFileAtomic(noteOf(paths), `${recipe}\n`);
  } catch {
    // The client tries again at the next answer to add_drawer.
  }
}

/** Returns the drawer id that a spooled add_drawer will get; undefined if the recipe is unknown. */
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

/** Returns the file with the palace's recipe. Each palace has a different `spoolDir`. */
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
