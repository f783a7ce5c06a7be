/** Finds documents that a run over an inner or outer folder has filed, by our notes and, if a broker answers, its records. */
import { relative, sep } from "node:path";
import { quoted } from "../../base/shell-word.ts";
import { isAsNoted, ofName } from "../notes.ts";
import type { Caller } from "../send.ts";
import { recordsByPath } from "./plan.ts";
import { findStage, knownRoots, type Manifest, readManifest, type StageOptions } from "./staging-area.ts";
import type { Found, Survey } from "./survey.ts";

/** Skips documents that a run over another folder has filed. */
export async function leaveToOthers(
  survey: Survey,
  place: StageOptions,
  noted: Manifest | undefined,
  caller: Caller | undefined,
): Promise<void> {
  const others = await filedFromOthers(survey.documents, place, noted, caller);
  if (others.size === 0) return;
  survey.documents = survey.documents.filter(({ path }) => !others.has(path));
  for (const [file, reason] of others) survey.skipped.push({ file, reason });
}

/** Returns the paths that another folder's run has filed and this folder's runs have not, each with the reason to skip it. */
async function filedFromOthers(
  documents: readonly Found[],
  place: StageOptions,
  noted: Manifest | undefined,
  caller: Caller | undefined,
): Promise<Map<string, string>> {
  const reasons = new Map<string, string>();
  const isNested = (one: string, other: string): boolean => one.startsWith(`${other}${sep}`);
  for (const { root, wing } of knownRoots(place.cacheDir)) {
    if (!isNested(root, place.root) && !isNested(place.root, root)) continue;
    const stage = findStage({ ...place, root, wing });
    const files = readManifest(stage)?.files ?? {};
    const filed = documents.flatMap((found) => {
      const { path } = found;
      const there = relative(root, `${place.root}${sep}${path}`);
      const entry = ofName(files, there) ?? undefined;
      const isOurs = reasons.has(path) || (ofName(noted?.files ?? {}, path) ?? undefined) !== undefined;
      return entry === undefined || entry.refused !== undefined || isOurs
        ? []
        : [{ path, there, isSame: isAsNoted(found, entry) }];
    });
    if (filed.length === 0) continue;
    const sources = caller && (await caller.call("source.list", { wing })).sources;
    const records = sources && recordsByPath(stage, sources);
    const from = `filed from ${root}, in the wing "${wing}"`;
    const changed = `${from}, and changed since: palace mine docs ${quoted(root)} --wing ${quoted(wing)}`;
    for (const { path, there, isSame } of filed)
      if (records === undefined || (records.get(there)?.drawers ?? 0) > 0) reasons.set(path, isSame ? from : changed);
  }
  return reasons;
}
