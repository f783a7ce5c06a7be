/** Searches by words: FTS5 selects the candidates, and this file computes their scores from the words of the query. */
import { setImmediate } from "node:timers/promises";
import type Database from "better-sqlite3";
import { STATIC_DIMENSIONS, staticTable, unit } from "../static/static-table.ts";
import { openStaticScan, type StaticScan } from "../static/static-codes.ts";
import { isWindow } from "../../ledger/read/drawer-filter.ts";
import { RowSets } from "../../ledger/read/row-sets.ts";
import type { DrawerFilter } from "../../port/drawer.ts";
import { type LexicalCandidate, type LexicalParts, NEAR_PART, NO_PARTS, type Scored } from "../../port/search.ts";
import { inverseFrequency, sumScores } from "./bm25.ts";
import { isLoneLetter } from "./cut.ts";
import { type DrawerText, prepareTexts } from "./drawer-texts.ts";
import { documentLength, FtsTable, prepareRanking, sum } from "./fts-table.ts";
import { shareHeld } from "./identifiers.ts";
import { heldWeight, nameCounter, NameIndex } from "./names.ts";
import { pickWords } from "./pick-words.ts";
import { asksForSideFiles, isSideFile } from "./side-files.ts";
import { readPhrase } from "./phrase.ts";
import {
  matchAllForms,
  matchAny,
  matchForms,
  matchPhrase,
  matchPhrases,
  type ParsedQuery,
  parseQuery,
} from "./query.ts";
import { countTerms, PositionIndex } from "./positions.ts";
import { type Corrected, Spelling } from "./spelling.ts";
import { addCounts, type Counts, drawerCounter, memoize, termCounter } from "./tokens.ts";

/** Number of drawers that are read for each wanted hit of a phrase, because some drawers match only by stem. */
const PHRASE_READ_FACTOR = 3;
/** Cost of reading a drawer and counting its words, relative to the cost of ranking one of FTS5's hits. */
const READ_COST = 200;
/** A word in at most this number, or this share, of the drawers is also searched by its parts of four letters (parts.ts). */
const RARE_MAX = 10;
const RARE_SHARE = 0.01;
const PART_ROWS_MAX = 20_000;
/** Maximum number of a question's positions to rank by. For more positions, FTS5's own ranking takes less time and memory. */
const RANKED_MAX = 100_000;
/** Maximum number of a question's positions to count by. For more positions, reading the candidates' texts is faster. */
const COUNTED_MAX = 7_000;

/**
 * `frequencies[i]` is the number of drawers with the most frequent stem of term i, `askedFrequencies[i]` that of the word as it was asked.
 * `hasForms` is true if `form_fts` has rows.
 */
type Question = Corrected & { frequencies: number[]; askedFrequencies: number[]; hasForms: boolean };

/** Searches one ledger. Each call sees all commits before it. */
export class LexicalSearch {
  readonly #drawers: FtsTable;
  readonly #sources: FtsTable;
  readonly #forms: FtsTable;
  readonly #sets: RowSets;
  readonly #rank: ReturnType<typeof prepareRanking>;
  readonly #rankForms: ReturnType<typeof prepareRanking>;
  readonly #readTexts;
  readonly #rankSources;
  readonly #static: StaticScan;
  readonly #names: NameIndex;
  readonly #positions: PositionIndex;
  readonly #spelling: Spelling;
  /** Calls a function whose statements then share one read transaction, which is faster. */
  readonly #readOnce: <T>(read: () => T) => T;

  constructor(ledger: Database.Database) {
    this.#drawers = new FtsTable(ledger, "drawer_fts");
    this.#sources = new FtsTable(ledger, "source_fts");
    this.#forms = new FtsTable(ledger, "form_fts");
    this.#sets = new RowSets(ledger);
    this.#rank = prepareRanking(ledger, "drawer_fts");
    this.#rankForms = prepareRanking(ledger, "form_fts");
    this.#static = openStaticScan(ledger, this.#sets);
    this.#names = new NameIndex(ledger);
    this.#positions = new PositionIndex(ledger);
    const reading = ledger.transaction((read: () => unknown) => read());
    this.#readOnce = (read) => reading(read) as ReturnType<typeof read>;
    this.#readTexts = prepareTexts(ledger);
    this.#spelling = new Spelling(ledger);
    // The + prevents SQLite from calling FTS5 once for each row, which would count every word again.
    this.#rankSources = ledger
      .prepare(
        `SELECT rowid, -bm25(source_fts) FROM source_fts
         WHERE source_fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`,
      )
      .raw();
  }

  /** Returns the best `limit` rows by BM25, best first, with every score except `meaning`. */
  async candidates(query: string, filter: DrawerFilter, limit: number): Promise<LexicalCandidate[]> {
    const parsed = this.#parse(query);
    const found = this.#readOnce(() => this.#findRows(parsed, filter, limit));
    const rows = found.map(({ row }) => row);
    const parts = await this.#scoreRows(parsed, rows);
    return found.map((one, at) => ({ ...one, parts: parts[at] ?? NO_PARTS }));
  }

  /** Returns the best rows by BM25, the rows that the question names and, unless `isLexical`, the rows with the nearest static vectors. */
  async retrieve(
    query: string,
    filter: DrawerFilter,
    limit: number,
    isLexical: boolean,
  ): Promise<Omit<LexicalCandidate, "score">[]> {
    const parsed = this.#parse(query);
    const vector = isLexical ? undefined : this.#vectorOf(parsed);
    const find = (): number[] => [
      ...this.#findRows(parsed, filter, limit).map(({ row }) => row),
      ...this.#named(parsed, filter),
    ];
    const [near = [], found] = await Promise.all([
      vector && this.#static.call("nearest", vector, filter, Math.ceil(limit / NEAR_PART)),
      // Lets the call above reach its thread first, so that both threads work at the same time.
      setImmediate().then(() => this.#readOnce(find)),
    ]);
    const rows = [...new Set(found.concat(near))];
    const parts = await this.#scoreRows(parsed, rows, vector);
    return rows.map((row, at) => ({ row, parts: parts[at] ?? NO_PARTS }));
  }

  /** Returns the cosine of each text's static vector with the question's; 0 for a text without a token. */
  alike(query: string, texts: readonly string[]): number[] {
    const vector = this.#vectorOf(this.#parse(query));
    const table = staticTable();
    return texts.map((text) => {
      const other = vector && table.vectorOf(text);
      return other === undefined ? 0 : other.reduce((total, value, at) => total + value * (vector?.[at] ?? 0), 0);
    });
  }

  #named(parsed: Question, filter: DrawerFilter): number[] {
    const { weights, telling } = this.#weightsOf(parsed);
    const allowed = Object.keys(filter).length === 0 ? undefined : this.#sets.of(filter).allowed;
    return this.#names.rows(
      { stems: parsed.stems, files: this.#names.filesOf(parsed.identifiers) },
      telling,
      sum(weights),
      (row) => allowed === undefined || allowed[row] === 1,
    );
  }

  /** Returns two weights of each term: `weights` by the rarity in texts, `telling` by the rarity in the drawers' names. */
  #weightsOf({ stems, frequencies }: Question): { weights: number[]; telling: number[] } {
    const { documents } = this.#drawers.size();
    const weights = frequencies.map((holding) => inverseFrequency(documents, holding));
    return { weights, telling: this.#names.tellingWeights(stems, weights) };
  }

  #parse(query: string): Question {
    return this.#readOnce(() => this.#frequenciesOf(parseQuery(query)));
  }

  #frequenciesOf(asked: ParsedQuery): Question {
    const { documents } = this.#drawers.size();
    const hasForms = this.#forms.size().documents > 0;
    const inForms = (form: string): number => {
      if (!hasForms) return 0;
      return isLoneLetter(form)
        ? this.#forms.phraseFrequency(matchForms([form]), documents)
        : this.#forms.termFrequency(form, documents);
    };
    const frequencyOf = (forms: readonly string[]): number =>
      Math.max(...forms.map((form) => this.#drawers.termFrequency(form, documents) + inForms(form)));
    const parsed = this.#spelling.correct(asked, (stems) => frequencyOf(stems) > 0 || this.#names.has(stems));
    const frequencies = parsed.stems.map(frequencyOf);
    const rareMax = Math.max(RARE_MAX, documents * RARE_SHARE);
    const parts = parsed.parts.map((one, at) => (hasForms && (frequencies[at] as number) <= rareMax ? one : []));
    const askedFrequencies = frequencies.map((holding, at) => (parsed.isCorrected[at] ? 0 : holding));
    return { ...parsed, parts, frequencies, askedFrequencies, hasForms };
  }

  /** Returns the mean of two static vectors: in one all tokens count equally, in the other the ledger's rare words count more. */
  #vectorOf({ query, asked, askedFrequencies: holding }: Question): Float32Array | undefined {
    const table = staticTable();
    const { documents } = this.#drawers.size();
    const [alike, rare] = [new Float32Array(STATIC_DIMENSIONS), new Float32Array(STATIC_DIMENSIONS)];
    asked.forEach((word, at) => table.addKnown(rare, word, inverseFrequency(documents, holding[at] as number)));
    table.addKnown(alike, query, 1);
    const [all, telling] = [unit(alike), unit(rare)];
    if (all === undefined || telling === undefined) return all ?? telling;
    return unit(all.map((value, at) => value + (telling[at] as number)));
  }

  #findRows(parsed: Question, filter: DrawerFilter, limit: number): Scored[] {
    const { documents } = this.#drawers.size();
    const { frequencies } = parsed;
    if (Object.keys(filter).length === 0) return this.#rankWords(parsed, limit);
    const { rows, allowed } = this.#sets.of(filter);
    const takesAll = rows.length <= limit && (filter.sourceFile !== undefined || isWindow(filter));
    if (takesAll || rows.length * READ_COST < sum(frequencies)) {
      const found = this.#readRows(parsed, rows);
      return (takesAll ? found : found.filter(({ score }) => score > 0)).slice(0, limit);
    }
    return this.#rankWords(parsed, limit, { allowed, share: rows.length / documents });
  }

  /** Ranks rows by the words of a question. `among` are the rows that pass a filter, with their share of all drawers. */
  #rankWords(parsed: Question, limit: number, among?: { allowed: Uint8Array; share: number }): Scored[] {
    const { frequencies } = parsed;
    const picked = pickWords(frequencies, this.#drawers.size().documents);
    if (picked.length === 0) return [];
    const expected = sum(picked.map((index) => frequencies[index] as number)) * (among?.share ?? 1);
    if (picked.length < parsed.words.length && expected >= limit) {
      const found = this.#rankTerms(parsed, picked, limit, among?.allowed);
      if (found.length >= limit) return found;
    }
    return this.#rankTerms(parsed, [...parsed.words.keys()], limit, among?.allowed);
  }

  /** Ranks rows by the terms with the indexes `picked`. BM25 is a sum, so the scores of plain words and of other forms are added. */
  #rankTerms(parsed: Question, picked: readonly number[], limit: number, allowed?: Uint8Array): Scored[] {
    const { forms, parts } = parsed;
    const stems = [...new Set(picked.flatMap((at) => parsed.stems[at] ?? []))];
    const byMatch = (words: ReadonlySet<string>): Scored[] =>
      words.size === 0 ? [] : this.#rank(matchAny([...words]), limit, allowed);
    const found = this.#hasFewPositions(parsed, RANKED_MAX, stems)
      ? this.#positions.rank(this.#positions.of(stems), this.#drawers.size(), limit, allowed)
      : byMatch(new Set(picked.flatMap((at) => forms[at] ?? [])));
    if (!parsed.hasForms) return found;
    const others = this.#rankForms(matchForms(stems), limit, allowed);
    const scores = new Map(found.map(({ row, score }) => [row, score]));
    for (const { row, score } of others) scores.set(row, score + (scores.get(row) ?? 0));
    const all = [...scores].map(([row, score]) => ({ row, score })).sort((a, b) => b.score - a.score || a.row - b.row);
    const rare = all.length >= limit ? [] : this.#rareParts([...new Set(picked.flatMap((at) => parts[at] ?? []))]);
    const near = rare.length === 0 ? [] : this.#rankForms(matchForms(rare), limit, allowed);
    // Drawers that match only by parts of words come last.
    const last = all.at(-1)?.score ?? Infinity;
    const behind = near.filter(({ row }) => !scores.has(row));
    return [...all, ...behind.map(({ row, score }) => ({ row, score: Math.min(score, last) }))].slice(0, limit);
  }

  /** Returns the parts that occur in a drawer, the rarest first, and only as many as can be ranked in some milliseconds. */
  #rareParts(parts: readonly string[]): string[] {
    const { documents } = this.#drawers.size();
    let rows = 0;
    return parts
      .map((part) => ({ part, holding: this.#forms.termFrequency(part, documents) }))
      .filter(({ holding }) => holding > 0)
      .sort((a, b) => a.holding - b.holding)
      .filter(({ holding }, at) => (rows += holding) <= PART_ROWS_MAX || at === 0)
      .map(({ part }) => part);
  }

  /** Ranks only the given rows by BM25, best first. */
  #readRows(parsed: Question, rows: readonly number[]): Scored[] {
    const { documents, averageLength } = this.#drawers.size();
    const weights = parsed.frequencies.map((holding) => inverseFrequency(documents, holding));
    const count = drawerCounter({ ...parsed, pairs: [] });
    const texts = this.#readTexts(rows);
    return texts
      .map((drawer) => ({
        row: drawer.row,
        score: sumScores(weights, count(drawer).terms, documentLength(drawer.sizes) / averageLength),
      }))
      .sort((a, b) => b.score - a.score || a.row - b.row);
  }

  /** Returns rows with every phrase word for word. FTS5 compares only stems, so each hit's text is checked. */
  phraseRows(phrases: readonly string[], filter: DrawerFilter, limit: number): number[] {
    const wanted = phrases.map(readPhrase).filter(({ words, pieces }) => words.length + pieces.length > 0);
    if (wanted.length === 0) return [];
    const allowed = Object.keys(filter).length === 0 ? undefined : this.#sets.of(filter).allowed;
    const pieces = wanted.flatMap((phrase) => phrase.pieces);
    const words = wanted.map((phrase) => phrase.words);
    const cut = pieces.length === 0 ? [] : this.#rankForms(matchAllForms(pieces), limit * PHRASE_READ_FACTOR, allowed);
    const near = cut.length > 0 ? cut : this.#rank(matchPhrases(words), limit * PHRASE_READ_FACTOR, allowed);
    const rows = near.map(({ row }) => row);
    const texts = new Map(this.#readTexts(rows).map(({ row, text }) => [row, text]));
    const holds = (row: number): boolean => {
      const text = texts.get(row) ?? "";
      return wanted.every((phrase) => phrase.isIn(text));
    };
    return rows.filter(holds).slice(0, limit);
  }

  /** Returns the scores in the order of `rows`. */
  async score(query: string, rows: readonly number[]): Promise<LexicalParts[]> {
    const parsed = this.#parse(query);
    return this.#scoreRows(parsed, rows, this.#vectorOf(parsed));
  }

  /** Scores rows. `vector`: the question's static vector; if it is missing, `meaning` is 0. */
  async #scoreRows(parsed: Question, rows: readonly number[], vector?: Float32Array): Promise<LexicalParts[]> {
    if (rows.length === 0) return [];
    const meanings = vector === undefined ? [] : await this.#static.call("cosines", vector, rows);
    return this.#readOnce(() => this.#partsOf(parsed, rows, meanings));
  }

  #partsOf(parsed: Question, rows: readonly number[], meanings: readonly number[]): LexicalParts[] {
    const meaningOf = new Map(rows.map((row, at) => [row, meanings[at] ?? 0]));
    const needsText = !this.#hasFewPositions(parsed, COUNTED_MAX) || parsed.identifiers.length > 0;
    const texts = this.#readTexts(rows, needsText);
    const own = this.#scoreDrawers(parsed, texts);
    const files = this.#names.filesOf(parsed.identifiers);
    const whole = this.#scoreSources(parsed, texts);
    const sources = new Set(asksForSideFiles(parsed.query) ? [] : texts.map(({ sourceFile }) => sourceFile));
    const aside = new Set([...sources].filter((name) => !files.has(name) && isSideFile(name)));
    const scores = new Map(
      texts.map(({ row, source, text, sourceFile }): [number, LexicalParts] => [
        row,
        {
          ...NO_PARTS,
          ...own.get(row),
          source: whole.get(source ?? 0) ?? 0,
          meaning: meaningOf.get(row) ?? 0,
          // 1 for a file that the question names, or less if many files have that name.
          file: files.get(sourceFile) ?? 0,
          identifiers: shareHeld(
            parsed.identifiers,
            `${text}\n${sourceFile.slice(0, sourceFile.lastIndexOf("/") + 1)}`,
          ),
          ...(aside.has(sourceFile) && { isAside: true }),
        },
      ]),
    );
    return rows.map((row) => scores.get(row) ?? NO_PARTS);
  }

  #scoreDrawers(
    parsed: Question,
    texts: readonly DrawerText[],
  ): Map<number, Omit<LexicalParts, "source" | "meaning" | "identifiers" | "file">> {
    const { stems, pairs } = parsed;
    if (stems.length === 0) return new Map();
    const { documents, averageLength } = this.#drawers.size();
    const count = this.#counterOf(parsed, texts);
    const { weights: termWeights, telling } = this.#weightsOf(parsed);
    // A corrected word raises no confidence: the drawer may be about another word than the user means.
    const sure = (of: readonly number[]): number[] => of.map((one, at) => (parsed.isCorrected[at] ? 0 : one));
    const askedSum = sum(parsed.askedFrequencies.map((holding) => inverseFrequency(documents, holding)));
    const [sureWeights, sureTelling] = [sure(termWeights), sure(telling)];
    const nameOf = nameCounter(stems, telling, sum(termWeights));
    const counted = texts.map((drawer) => ({
      row: drawer.row,
      name: nameOf(drawer),
      length: documentLength(drawer.sizes) / averageLength,
      counts: count(drawer),
    }));

    // Counts only pairs that occur in a candidate, because counting a phrase is slow and most pairs occur in none.
    const pairWeights = pairs.map((pair, index) => {
      if (!counted.some(({ counts }) => (counts.pairs[index] ?? 0) > 0)) return 0;
      return inverseFrequency(documents, this.#pairFrequency(parsed, pair));
    });
    return new Map(
      counted.map(({ row, length, counts, name }) => [
        row,
        {
          drawer: sumScores(termWeights, counts.terms, length),
          pairs: sumScores(pairWeights, counts.pairs, length),
          coverage: heldWeight(sureWeights, sureTelling, counts.terms, name.holds) / askedSum,
          names: name.share,
        },
      ]),
    );
  }

  /** Returns a function that counts terms and pairs in one of the drawers. It needs texts only for drawers with a row in `form_fts`. */
  #counterOf(parsed: Question, drawers: readonly DrawerText[]): (drawer: DrawerText) => Counts {
    if (!this.#hasFewPositions(parsed, COUNTED_MAX)) return drawerCounter(parsed);
    const { stems, pairs } = parsed;
    const plain = drawers.flatMap(({ row, hasForms }) => (hasForms === 1 ? [] : [row]));
    const positions = stems.map((one) => this.#positions.of(one));
    const found = countTerms(positions, pairs, plain);
    const [inTexts, inHeadings] = [drawerCounter(parsed), memoize(termCounter(stems, pairs))];
    return (drawer) => {
      const counts = found.get(drawer.row);
      if (counts === undefined) return inTexts(drawer);
      return drawer.headings === "" ? counts : addCounts(counts, inHeadings(drawer.headings));
    };
  }

  #hasFewPositions({ isPlain, stems: all }: Question, most: number, stems = all.flat()): boolean {
    const { documents } = this.#drawers.size();
    return isPlain && sum(stems.map((one) => this.#drawers.occurrences(one, documents))) <= most;
  }

  #pairFrequency({ words, terms, hasForms }: Question, pair: readonly [number, number]): number {
    const { documents } = this.#drawers.size();
    const holding = (table: FtsTable, of: readonly string[]): number =>
      table.phraseFrequency(matchPhrase(pair.map((word) => of[word] as string)), documents);
    const inForms = hasForms ? holding(this.#forms, terms) : 0;
    return holding(this.#drawers, words) + inForms;
  }

  #scoreSources({ forms, stems }: Question, texts: readonly DrawerText[]): Map<number, number> {
    const wanted = [...new Set(texts.flatMap(({ source }) => (source === null ? [] : [source])))];
    const { documents } = this.#sources.size();
    // Skips words in more than half of the sources: FTS5 gives them no weight, and they are the slowest to read.
    const telling = forms.flatMap((words, index) => {
      const holding = Math.max(...(stems[index] ?? []).map((one) => this.#sources.termFrequency(one, documents)));
      return holding > 0 && holding * 2 <= documents ? words : [];
    });
    if (wanted.length === 0 || telling.length === 0) return new Map();
    return new Map(this.#rankSources.all(matchAny(telling), JSON.stringify(wanted)) as [number, number][]);
  }
}
