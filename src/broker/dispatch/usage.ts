/** Counts for each day how agents use the memory. A killed broker loses at most one minute of the counts. */
import { replaceLater } from "../../base/atomic-file.ts";
import { localDay } from "../../base/clock.ts";
import { isRecord, readRecord } from "../../base/parse-json.ts";
import { USAGE_NAMES, type UsageCounts } from "../../protocol/status.ts";

const FLUSH_MS = 60_000;
/** Maximum number of days with their own counts. The counts of older days are added up. */
const DAYS_MAX = 400;
/** Key of the sum of older days. It sorts before every day. */
const BEFORE = "0";
/** Approximate number of characters per token. Agents' models differ, so an exact number does not exist. */
const TOKEN_CHARACTERS = 4;

export class Usage {
  readonly #file: string | undefined;
  readonly #days = new Map<string, UsageCounts>();
  #isChanged = false;
  #writing: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout | undefined;

  /** Without a file, the counters end with the process. A file that cannot be read counts as empty. */
  constructor(file?: string) {
    this.#file = file;
    if (file === undefined) return;
    const { days } = readRecord(file);
    for (const [day, counts] of Object.entries(isRecord(days) ? days : {}))
      if (isRecord(counts)) this.#days.set(day, countsIn(counts));
    this.#timer = setInterval(() => this.#flush(), FLUSH_MS).unref();
  }

  add(name: keyof UsageCounts, count = 1): void {
    const day = localDay(Date.now());
    const counts = this.#days.get(day) ?? countsIn({});
    counts[name] += count;
    this.#days.set(day, counts);
    this.#isChanged = true;
  }

  /** Returns the sums from the day of `sinceMs` on, or of all time. */
  sums(sinceMs = 0): UsageCounts {
    const sum = countsIn({});
    const first = sinceMs === 0 ? "" : localDay(sinceMs);
    for (const [day, counts] of this.#days) if (day >= first) addTo(sum, counts);
    return sum;
  }

  /** Counts a search by the quality of its answer. A refused search does not count. */
  countSearch(answer: unknown): void {
    if (!isRecord(answer) || !Array.isArray(answer["results"])) return;
    if (answer["nothing_found"] === true) this.add("searchesNone");
    else this.add(answer["weak_match"] === true ? "searchesWeak" : "searchesGood");
  }

  /** Counts texts that go into an agent's context. */
  countTokens(name: "tokensStart" | "tokensPrompt", ...texts: readonly string[]): void {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (characters > 0) this.add(name, Math.ceil(characters / TOKEN_CHARACTERS));
  }

  /** Writes the counts asynchronously: a sync takes up to a second on a busy disk. After a failure, the next minute tries again. */
  #flush(): void {
    const file = this.#file;
    if (file === undefined || !this.#isChanged) return;
    this.#isChanged = false;
    const old = [...this.#days.keys()].filter((day) => day !== BEFORE).toSorted();
    for (const day of old.slice(0, Math.max(old.length - DAYS_MAX, 0))) {
      const before = this.#days.get(BEFORE) ?? countsIn({});
      addTo(before, this.#days.get(day) ?? {});
      this.#days.set(BEFORE, before).delete(day);
    }
    const content = `${JSON.stringify({ days: Object.fromEntries(this.#days) })}\n`;
    this.#writing = this.#writing.then(() => replaceLater(file, content)).catch(() => void (this.#isChanged = true));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#flush();
    await this.#writing;
  }
}

/** Reads counts; a name that is missing or invalid counts as 0. */
function countsIn(values: Readonly<Record<string, unknown>>): UsageCounts {
  const count = (name: string): number => (Number.isSafeInteger(values[name]) ? Number(values[name]) : 0);
  return Object.fromEntries(USAGE_NAMES.map((name) => [name, count(name)])) as UsageCounts;
}

function addTo(sum: UsageCounts, counts: Partial<UsageCounts>): void {
  for (const name of USAGE_NAMES) sum[name] += counts[name] ?? 0;
}
