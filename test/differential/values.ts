/** Values for calls: names, texts, numbers, dates. Some are valid, some barely valid, some invalid. */
import type { World } from "./calls.ts";

export const WINGS = [
  "proj",
  "Proj",
  "two words",
  "wing_alice",
  "o'neil",
  "é",
  "日本語",
  "x.y-z",
  "W".repeat(128),
] as const;
export const ROOMS = ["notes", "auth-migration", "diary", "Ünïcode room", "r"] as const;
export const SOURCES = ["/p/a.md", "/p/sub/b c.md", "C:\\dir\\c.txt", "plain.txt", "/ü/日.md"] as const;
/** Placeholder in calls for the folder that both servers see. `makeProject` (run.ts) fills that folder. */
export const PROJECT = "@PROJECT@";
/** Sources in the folder PROJECT: existing, ignored by one of two .gitignore files, deleted, and deleted with their folder. */
export const PROJECT_SOURCES = [
  "kept.md",
  "x.log",
  "sub/ignored.md",
  "sub/kept.md",
  "gone.md",
  "sub/gone.md",
  "away/a.md",
].map((name) => `${PROJECT}/${name}`);
export const AGENTS = ["tester", "Tester", "claude code", "session-hook", "Ö"] as const;

const BAD_NAMES = [
  ...["", "  ", "../etc", "a/b", "a\\b", "_a", "a_", "a,b", "a..b", "n\0l", "x".repeat(129), " x ", "\u0085n\u001c"],
  ...[7, null, ["x"], { a: 1 }, true, "\ud800x", "-x", "x'", "ﬁ", "😀", "e\u0301"],
] as const;

const WORDS = (
  "vacuum postgres index memory broker socket token garden river copper violin lantern harbor engine ledger palace " +
  "über naïve 日本 東京 keys drawer shelf window quiet storm winter summer apple orange violet amber silver marble"
).split(" ");

export const LIMITS = [0, -5, 1, 2, 5, 20, 100, 101, 1000, 7.9, "7", " 3 ", "1_0", "x", "", null, [], {}] as const;
export const OFFSETS = [0, 1, 3, 10, 100_000, -1, "2", 2.5, "x", null] as const;
export const NUMBERS = [0, -1, 0.2, 0.5, 0.9, 1, 1.5, 2, "0.5", "x", null] as const;

const DATES = [
  ...["2020-01-01", "2100-01-01", "2026-02-30", "2026-13-01", "yesterday", "", "  ", " 2020-01-01 ", "2020-01-01Z"],
  ...[
    "2020-01-01T10:00:00",
    "2020-01-01T10:00:00Z",
    "2100-01-01T00:00:00+05:30",
    "2020-01-01T25:00:00",
    "it's",
    5,
    null,
  ],
] as const;

export function name(world: World, good: readonly string[]): unknown {
  return world.choose.chance(0.9) ? world.choose.pick(good) : world.choose.pick(BAD_NAMES);
}

export function sentence(world: World, most = 12): string {
  const { choose } = world;
  return Array.from({ length: choose.between(2, most) }, () => choose.pick(WORDS)).join(" ");
}

/** Returns content for a drawer: mostly a new text, sometimes as long as a slice, repeated or invalid. */
export function content(world: World): unknown {
  const { choose } = world;
  if (choose.chance(0.08)) return choose.pick(["", "   ", "\n", "a\0b", 5, null, ["x"], "\ud800 half", "\ufeff"]);
  if (choose.chance(0.15) && world.contents.length > 0) return choose.pick(world.contents);
  const made = choose.chance(0.2) ? long(world) : `${sentence(world)} ${world.step}`;
  world.contents.push(made);
  return made;
}

function long(world: World): string {
  const { choose } = world;
  const size = choose.pick([799, 800, 801, 1600, 1601, 2405]);
  const unit = choose.pick([`${sentence(world, 6)} `, "ü", "語 ", "😀"]);
  const points = Array.from(unit.repeat(Math.ceil(size / Array.from(unit).length))).slice(0, size);
  const mark = Array.from(`${world.step} `);
  return [...mark, ...points.slice(0, size - mark.length)].join("");
}

/**
 * Returns the id of a drawer or of a slice, or an unknown id. Without `whole`, returns only slices' ids of a split drawer, because 3.3.6
 * does not know the whole drawer's id.
 */
export function drawerId(world: World, { whole }: { whole: boolean }): unknown {
  const { choose } = world;
  if (choose.chance(0.1)) return choose.pick(["nope", "", "drawer_proj_notes_0", "@99999@", "a'b\"c"]);
  const filed = choose.pick(world.filed);
  if (filed.isSplit && (!whole || choose.chance(0.3)))
    return `${filed.ref}_chunk_${String(choose.below(filed.slices + 1)).padStart(6, "0")}`;
  return filed.ref;
}

export function dates(world: World): Record<string, unknown> {
  const { choose } = world;
  return {
    ...(choose.chance(0.2) && { since: choose.pick(DATES) }),
    ...(choose.chance(0.2) && { before: choose.pick(DATES) }),
  };
}

/** Returns the key with a value from `make`, with the given probability, otherwise an empty object. */
export function maybe(world: World, probability: number, key: string, make: () => unknown): Record<string, unknown> {
  return world.choose.chance(probability) ? { [key]: make() } : {};
}
