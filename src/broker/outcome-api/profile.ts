/** Finds the Roampal profile of a request. Source: roampal 0.6.0, `_resolve_profile_name` in its server/main.py. */
import type { IncomingHttpHeaders } from "node:http";
import { dirname, join, resolve } from "node:path";
import { type Profile, profileKey } from "../../learning/memory/profiles.ts";
import { isRecord } from "../../base/parse-json.ts";
import { realPath } from "../../base/real-path.ts";
import { readRegularFile } from "../../base/regular-file.ts";
import { Refused } from "./refused.ts";
import { orElse } from "../../base/or-else.ts";

const DEFAULT = "default";
const REGISTRY = "profiles.json";
/** Key under which the registry has the map from folders to profiles. */
const BINDINGS = "bindings";
const NAME_SHOWN = 60;

/** `folder`: Roampal's settings. Errors: Refused, 404 for an unknown profile, 503 for an unreadable registry. */
export function profileOf(headers: IncomingHttpHeaders, folder: string): Profile {
  const named = headerOf(headers, "x-roampal-profile");
  if (named === DEFAULT) return undefined;
  const profile = named ?? boundProfile(headerOf(headers, "x-roampal-cwd"), folder) ?? activeProfile(folder);
  if (profile === undefined) return undefined;
  return keyOfProfile(profile, folder);
}

/** Returns the key of a registered profile; undefined for `default`. Errors: Refused, 404 or 503. */
export function keyOfProfile(profile: string, folder: string): Profile {
  if (profile === DEFAULT) return undefined;
  const isKnown = profile !== BINDINGS && Object.hasOwn(registry(folder), profile);
  const key = isKnown ? profileKey(profile) : undefined;
  if (key !== undefined) return key;
  const shown = JSON.stringify(profile.slice(0, NAME_SHOWN));
  throw new Refused(
    404,
    `Profile ${shown} is not registered. Add it to ${join(folder, REGISTRY)}, for example {"work": null}, or use ${DEFAULT}`,
  );
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const text = String(headers[name] ?? "").trim();
  return text === "" ? undefined : text;
}

/** Finds the profile bound to the client's folder, or else to its nearest parent. `given`: the client's folder, percent-encoded. */
function boundProfile(given: string | undefined, folder: string): string | undefined {
  if (given === undefined) return undefined;
  const { [BINDINGS]: bindings } = registry(folder);
  if (!isRecord(bindings)) return undefined;
  const bound = new Map(Object.entries(bindings).map(([path, profile]) => [realPath(path) ?? resolve(path), profile]));
  const from = decoded(given);
  for (let path = realPath(from) ?? resolve(from); ; path = dirname(path)) {
    const profile = bound.get(path);
    if (typeof profile === "string") return profile;
    if (path === dirname(path)) return undefined;
  }
}

function activeProfile(folder: string): string | undefined {
  const name = textOf(join(folder, "active_profile"))?.trim();
  return name === "" ? undefined : name;
}

/** Reads Roampal's registry of profiles; a missing file counts as empty. Errors: Refused, 503. */
function registry(folder: string): Record<string, unknown> {
  const file = join(folder, REGISTRY);
  const text = textOf(file);
  if (text === undefined) return {};
  try {
    const read: unknown = JSON.parse(text);
    if (isRecord(read)) return read;
  } catch {
    // Invalid JSON is refused below.
  }
  throw new Refused(503, `${file} is not whole JSON: look at it, or repeat the request if Roampal is writing it`);
}

/** Reads a file; undefined if it is missing. Errors: Refused, 503. */
function textOf(file: string): string | undefined {
  try {
    return readRegularFile(file).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Refused(503, `${file} cannot be read: ${(error as Error).message}`);
  }
}

function decoded(text: string): string {
  return orElse(() => decodeURIComponent(text), text);
}
