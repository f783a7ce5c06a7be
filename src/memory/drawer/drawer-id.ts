/** Makes ids of drawers and slices from their texts, by both recipes of MemPalace (palace.md 4.7, upstream-latest.md 2.3). */
import type { IdRecipe, Metadata } from "../port/drawer.ts";
import { codePointLength, sha256Hex } from "../text/text.ts";
import { validContent, validName } from "../text/validate.ts";

/** Returns metadata that name the recipe, as MemPalace 3.11 does. MemPalace 3.3.6 had only one recipe and did not name it. */
export function recipeNote(recipe: IdRecipe): Metadata {
  return recipe === "v3" ? { id_recipe: recipe } : {};
}

/** Joins parts with their lengths in front: "2:ab3:xyz". The specification calls this `L(a, b, …)`. */
export function lengthJoined(...parts: string[]): string {
  return parts.map((part) => `${codePointLength(part)}:${part}`).join("");
}

export function hash24(text: string): string {
  return sha256Hex(text).slice(0, 24);
}

/** Returns a text's ids by both recipes, the palace's first. The text may already be filed under the id of the other recipe. */
export function drawerIds(
  recipe: IdRecipe,
  wing: string,
  room: string,
  content: string,
): [ours: string, other: string] {
  const id = (hashed: string): string => `drawer_${wing}_${room}_${hash24(hashed)}`;
  const [v3, bare] = [id(lengthJoined(wing, room, content)), id(wing + room + content)];
  return recipe === "v3" ? [v3, bare] : [bare, v3];
}

/** Returns the id that add_drawer gives a new drawer. Errors: InvalidValue. */
export function newDrawerId(recipe: IdRecipe, params: Record<string, unknown>): string {
  const { wing, room, content } = readNew(params);
  return drawerIds(recipe, wing, room, content)[0];
}

/** Reads the fields of a new drawer. Errors: InvalidValue. */
export function readNew(params: Record<string, unknown>): { wing: string; room: string; content: string } {
  const wing = validName(params["wing"], "wing");
  const room = validName(params["room"], "room");
  return { wing, room, content: validContent(params["content"]) };
}

/** Returns the id of a drawer's slice. `index` counts from 0. */
export function sliceId(id: string, index: number): string {
  return `${id}_chunk_${String(index).padStart(6, "0")}`;
}
