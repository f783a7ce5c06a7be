/** Selects the hits to show: adjusts scores, and shows only one of several near-duplicates or slices of one exchange. */
import { cut } from "../../base/shorten.ts";
import { parentOf } from "../drawer/logical.ts";
import type { Drawer } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import type { Standing } from "../port/outcome.ts";
import { STALE_FACTOR, type StaleFact, staleFactsIn, worstOf } from "../graph/stale-facts.ts";
import type { Now } from "../graph/temporal.ts";
import type { Adjustment } from "./explain.ts";
import { fingerprintOf, Folder } from "./fold.ts";
import type { AskedDate } from "./question-dates.ts";
import { replaces, statedIn } from "./superseded.ts";
import { byScore, type Ranked } from "./fusion.ts";

export type Chosen = {
  drawer: Drawer;
  ranked: Ranked;
  adjustments: Adjustment[];
  stale: StaleFact[];
  /** Near-duplicates that are not shown, best first. */
  duplicates: Drawer[];
  /** Slices of the drawer's exchange that are not shown, best first. */
  exchange: Drawer[];
  /** Id of a newer drawer that gives another value for the same thing. */
  supersededBy?: string;
};

/** Returns the factors on a drawer's score for its past outcomes. `standing`: undefined for a drawer without outcomes. */
export type AdjustByOutcomes = (drawer: Drawer, standing: Standing | undefined) => Adjustment[];

export type ChooseOptions = {
  limit: number;
  dates: readonly AskedDate[];
  now: Now;
  adjustByOutcomes: AdjustByOutcomes;
  /** Wings of the project in which the asker works. */
  preferred: ReadonlySet<string>;
  /** Set if the question asks for the newest or for the oldest statement. */
  end?: "newest" | "oldest" | undefined;
  /** True if the question asks for earlier values. A statement that a newer one replaces then keeps its rank. */
  isPast?: boolean;
};

/** Number of drawers that are examined beyond the limit, because some drawers are moved down or are not shown. */
const SPARE = 10;
/** Minimum number of candidates that are examined if a date, a project or the age may move one of them up. */
const MOVED_MIN = 60;
const DATE_FACTOR = 1.1;
/** Factor on the score of a drawer from before or after a date, if the question asks for that (docs/lab/search-recipe.md). */
const SPAN_FACTOR = 1.3;
/** Gain of the newest or oldest drawer, as a share of its score, if the question asks for that drawer (docs/lab/search-recipe.md). */
const AGE_GAIN = 0.2;
/** Factor on the score of a drawer of the asker's project (source: docs/lab/figures.md, the searcher's project). */
const PROJECT_FACTOR = 1.1;

export function chooseHits(
  reader: Pick<LedgerReader, "drawersByRow" | "exchangeOf" | "graph" | "standings">,
  ranked: readonly Ranked[],
  options: ChooseOptions,
): Chosen[] {
  const { limit, dates, preferred, end: wanted } = options;
  const shown: Chosen[] = [];
  const beyond: Drawer[] = [];
  const folder = new Folder<Chosen>();
  const shownBySource = new Map<string, Chosen[]>();
  const isMoving = dates.length > 0 || preferred.size > 0 || wanted !== undefined;
  for (let at = 0, end = 0; at < ranked.length && shown.length < limit; at = end) {
    end += at > 0 ? SPARE : Math.max(limit + SPARE, isMoving ? MOVED_MIN : 0);
    const page = adjusted(reader, ranked.slice(at, end), options);
    for (const [place, chosen] of page.entries()) {
      if (shown.length >= limit && place >= limit + SPARE) break;
      const fingerprint = fingerprintOf(chosen.drawer.text);
      const same = folder.find(fingerprint);
      if (same !== undefined) {
        same.duplicates.push(chosen.drawer);
        continue;
      }
      const key = momentOf(chosen.drawer);
      const beside = shownBySource.get(key) ?? [];
      const slice = sameExchange(reader, chosen, beside);
      if (slice !== undefined) slice.exchange.push(chosen.drawer);
      else if (shown.length < limit) {
        shown.push(chosen);
        folder.add(fingerprint, chosen);
        shownBySource.set(key, [...beside, chosen]);
      } else beyond.push(chosen.drawer);
    }
  }
  return options.isPast === true ? shown : withSuperseded(shown, beyond);
}

/** Sets `supersededBy` for drawers whose statement a newer candidate replaces, and moves them below that candidate if both are shown. */
function withSuperseded(shown: readonly Chosen[], beyond: readonly Drawer[]): Chosen[] {
  const stated = new Map([...shown.map(({ drawer }) => drawer), ...beyond].map((drawer) => [drawer, statedIn(drawer)]));
  const known = [...stated].flatMap(([drawer, says]) => (says === undefined ? [] : [{ drawer, says }]));
  if (known.length < 2) return [...shown];
  known.sort((a, b) => (a.says.time < b.says.time ? 1 : -1));
  const scores = new Map(shown.map(({ drawer, ranked }) => [drawer, ranked.score]));
  const newerThan = new Map<Drawer, Drawer>();
  // The newest first, so that a successor has its final score before the drawer that it replaces.
  for (const { drawer, says } of known) {
    const newer = known.find((other) => replaces(other.says, says))?.drawer;
    if (newer === undefined) continue;
    newerThan.set(drawer, newer);
    scores.set(drawer, Math.min(scores.get(drawer) ?? Infinity, scores.get(newer) ?? Infinity));
  }
  const age = new Map(known.map(({ drawer }, at) => [drawer, at]));
  const ageOf = ({ drawer }: Chosen): number => age.get(drawer) ?? -1;
  return shown
    .map((one) => {
      const newer = newerThan.get(one.drawer);
      if (newer === undefined) return one;
      const score = scores.get(one.drawer) ?? one.ranked.score;
      const factor = score / one.ranked.score;
      const moved = { factor, reason: `a later drawer replaces it: ${newer.id}` };
      const adjustments = factor > 0 && factor < 1 ? [...one.adjustments, moved] : one.adjustments;
      const supersededBy = parentOf(newer.metadata) ?? newer.id;
      return { ...one, ranked: { ...one.ranked, score }, adjustments, supersededBy };
    })
    .sort((a, b) => b.ranked.score - a.ranked.score || ageOf(a) - ageOf(b));
}

/** Returns a key that all slices of one exchange share, so that only drawers with the same key are compared. */
function momentOf({ metadata: { source_file: source, authored_at: authored } }: Drawer): string {
  return JSON.stringify([source, authored]);
}

function sameExchange(
  reader: Pick<LedgerReader, "exchangeOf">,
  { drawer }: Chosen,
  beside: readonly Chosen[],
): Chosen | undefined {
  const exchange = beside.length === 0 ? undefined : reader.exchangeOf(drawer);
  return exchange === undefined ? undefined : beside.find((one) => reader.exchangeOf(one.drawer) === exchange);
}

function adjusted(
  reader: Pick<LedgerReader, "drawersByRow" | "graph" | "standings">,
  ranked: readonly Ranked[],
  { dates, now, adjustByOutcomes, preferred, end }: ChooseOptions,
): Chosen[] {
  const drawers = new Map(reader.drawersByRow(ranked.map(({ row }) => row)).map((drawer) => [drawer.row, drawer]));
  const page = ranked.flatMap((one) => {
    const drawer = drawers.get(one.row);
    return drawer === undefined ? [] : [{ ranked: one, drawer }];
  });
  const staleFacts = staleFactsIn(
    reader.graph,
    page.map(({ drawer }) => drawer.text),
    now,
  );
  const ageFactors = end === undefined ? undefined : factorsByAge(page, end);
  const standings = reader.standings(page.map(({ drawer }) => drawer.id));
  return page
    .map(({ ranked: one, drawer }, at): Chosen => {
      const stale = staleFacts[at] ?? [];
      const adjustments = [
        ...dateAdjustments(drawer, dates),
        ...projectAdjustments(drawer, preferred),
        ...(ageFactors?.[at] ?? []),
        ...staleAdjustments(stale),
        ...adjustByOutcomes(drawer, standings.get(drawer.id)),
      ];
      const score = adjustments.reduce((value, { factor }) => value * factor, one.score);
      return { drawer, ranked: { ...one, score }, adjustments, stale, duplicates: [], exchange: [] };
    })
    .sort((a, b) => byScore(a.ranked, b.ranked));
}

function dateAdjustments(drawer: Drawer, dates: readonly AskedDate[]): Adjustment[] {
  if (dates.length === 0) return [];
  const { content_date: content, date, authored_at: authored, filed_at: filed } = drawer.metadata;
  const own = String(content ?? date ?? authored ?? filed ?? "").slice(0, 10);
  // A document without its own date has only its day of filing, which does not show when the document was written.
  const known = timeOf(drawer).slice(0, 10);
  const agreeing = dates.find(({ agrees, isSpan }) => agrees(isSpan ? known : own));
  if (agreeing === undefined) return [];
  const factor = agreeing.isSpan ? SPAN_FACTOR : DATE_FACTOR;
  return [{ factor, reason: `dated ${own}; you ask for "${agreeing.label}"` }];
}

/** Returns each drawer's factor by its date: 1 + `AGE_GAIN` for the newest or oldest drawer, as `end` says, down to 1 at the other end. */
function factorsByAge(page: readonly { drawer: Drawer }[], end: "newest" | "oldest"): Adjustment[][] {
  const times = page.map(({ drawer }) => timeOf(drawer));
  const known = [...new Set(times.filter((time) => time !== ""))].sort();
  if (end === "oldest") known.reverse();
  const last = known.length - 1;
  if (last < 1) return page.map(() => []);
  return times.map((time) => {
    const at = known.indexOf(time);
    return at < 1
      ? []
      : [{ factor: 1 + (AGE_GAIN * at) / last, reason: `dated ${time.slice(0, 10)}; you ask for the ${end}` }];
  });
}

/** Returns the time at which a drawer's text was said or written; empty for a document without its own date. */
function timeOf({ metadata }: Drawer): string {
  const { content_date: content, date, authored_at: authored, filed_at: filed, source_file: source } = metadata;
  const own = content ?? date ?? authored ?? (typeof source === "string" && source !== "" ? "" : filed);
  return typeof own === "string" ? own : "";
}

function projectAdjustments({ wing }: Drawer, preferred: ReadonlySet<string>): Adjustment[] {
  if (!preferred.has(wing)) return [];
  return [{ factor: PROJECT_FACTOR, reason: `belongs to the project you work in: wing \`${cut(wing)}\`` }];
}

/** Returns the adjustment that lowers a drawer with an ended fact; none if the drawer's text also has each fact's new value. */
function staleAdjustments(stale: readonly StaleFact[]): Adjustment[] {
  const worst = worstOf(stale);
  return worst === undefined
    ? []
    : [{ factor: STALE_FACTOR, reason: `states a fact that ended on ${worst.ended}: ${worst.fact}` }];
}
