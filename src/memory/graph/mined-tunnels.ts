/** Makes a mined wing's tunnels to wings with a common topic or hallway name, as upstream 3.11 does (palace.md 5.2). */
import type { HallwayEnd } from "../port/graph.ts";
import { compareText, strip } from "../text/text.ts";
import { isGenericName } from "./generic-names.ts";
import { canonicalSpellings } from "./spellings.ts";
import { type MinedTunnel, wingSlug } from "./tunnels.ts";

export type Topics = Readonly<Record<string, readonly string[]>>;

/** Minimum number of drawers that a name must have in both wings. */
const SHARED_MIN = 3;
const ENTITY_TUNNELS_MAX = 25;
/** A name in more than this many wings, and in more than a quarter of all wings, is a common word and makes no tunnel. */
const WINGS_MIN = 3;
const WINGS_SHARE = 0.25;

/** Returns tunnels to every wing with at least `topicsMin` topics in common, ignoring case. */
export function topicTunnels(wing: string, topics: Topics, topicsMin: number): MinedTunnel[] {
  if (!Object.hasOwn(topics, wing)) return [];
  const here = wingSlug(strip(wing));
  const own = (Object.hasOwn(topics, here) ? topics[here] : topics[wing]) ?? [];
  return Object.entries(topics).flatMap(([other, names]) => {
    const there = wingSlug(strip(other));
    if (strip(other) === "" || there === here) return [];
    const [mine, theirs] = [topicsByKey(own), topicsByKey(names)];
    const shared = [...mine.keys()].filter((key) => theirs.has(key)).sort(compareText);
    if (shared.length < topicsMin) return [];
    const [source, target, spelled] = compareText(here, there) <= 0 ? [here, there, mine] : [there, here, theirs];
    return shared.map((key): MinedTunnel => ({ kind: "topic", name: spelled.get(key) ?? "", source, target }));
  });
}

function topicsByKey(names: readonly string[]): Map<string, string> {
  const byKey = new Map<string, string>();
  for (const name of names.map(strip)) {
    const key = name.toLowerCase();
    if (key !== "" && !byKey.has(key)) byKey.set(key, name);
  }
  return byKey;
}

/** Returns tunnels to wings with a common hallway name, the strongest first. `ends`: names of the hallways of all wings. */
export function entityTunnels(wing: string, ends: readonly HallwayEnd[]): MinedTunnel[] {
  const here = wingSlug(strip(wing));
  const usable = ends.filter(({ name }) => strip(name) !== "" && !isGenericName(name));
  const canonical = canonicalSpellings(usable.map(({ name }) => name));
  const byName = new Map<string, Map<string, { wing: string; drawers: number }>>();
  for (const end of usable) {
    const name = canonical.get(end.name);
    if (name === undefined || strip(end.wing) === "") continue;
    const wings = byName.get(name) ?? new Map<string, { wing: string; drawers: number }>();
    byName.set(name, wings);
    const slug = wingSlug(strip(end.wing));
    const drawers = end.drawers ?? SHARED_MIN;
    if (drawers > (wings.get(slug)?.drawers ?? -Infinity)) wings.set(slug, { wing: end.wing, drawers });
  }
  const all = new Set(ends.map((end) => wingSlug(strip(end.wing))));
  const wingsMax = Math.max(WINGS_MIN, Math.floor(all.size * WINGS_SHARE));
  const links = [...byName].flatMap(([name, wings]) => {
    const own = wings.get(here);
    if (own === undefined || own.drawers < SHARED_MIN || wings.size > wingsMax) return [];
    return [...wings].flatMap(([slug, other]) =>
      slug === here || other.drawers < SHARED_MIN
        ? []
        : { name, slug, source: own.wing, target: other.wing, drawers: Math.min(own.drawers, other.drawers) },
    );
  });
  return links
    .sort((a, b) => b.drawers - a.drawers || compareText(a.name, b.name) || compareText(a.slug, b.slug))
    .slice(0, ENTITY_TUNNELS_MAX)
    .map(({ name, source, target }) => ({ kind: "entity", name, source, target }));
}
