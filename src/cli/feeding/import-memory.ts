/**
 * Merges another memory into the running one: the first pass asks the broker which parts would change something, the second sends these.
 * The broker skips rows that it has, so the next run finishes an interrupted import.
 */
import type { OtherMemory } from "../../memory/backup/other-memory.ts";
import { ROWS_OF } from "../../memory/backup/other-rows.ts";
import type { Client } from "../../wire/client/client.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { MODE_SEPARATOR } from "../../protocol/filing.ts";
import {
  IMPORT_KINDS,
  type ImportedRow,
  type ImportItems,
  type ImportKind,
  type ImportPart,
  isFlat,
  type MergeReport,
  minedFrom,
} from "../../protocol/import.ts";
import type { AuditEntry, AuditRequest } from "../../protocol/hygiene.ts";
import { CARRIED_MAX_BYTES, IMPORT_ITEMS_MAX } from "../../protocol/limits.ts";
import { parts } from "../../learning/roampal/carrying.ts";
import { journalRows } from "../report/written.ts";
import { teller } from "./roampal.ts";

/** Kinds in the order of the first pass. Filing records come first: they show which mined files are newer in the running memory. */
const PREVIEW_ORDER: readonly ImportKind[] = ["source", ...IMPORT_KINDS.filter((kind) => kind !== "source")];
const UNDO_KEPT_DAYS = 30;
const AUDIT_PAGE = 500;
const TOO_LARGE = `it has more than ${CARRIED_MAX_BYTES / 1024 ** 2} MiB`;
const UNREADABLE = "its metadata cannot be read";

export type Joined = {
  from: string;
  kind: OtherMemory["kind"];
  dryRun: boolean;
  /** False after Ctrl-C; the same command then continues the import. */
  complete: boolean;
  rows: Record<ImportKind, { added: number; updated: number; here: number }>;
  /** Kinds of rows that are not imported, with their number. */
  notImported: Record<string, number>;
  /** Arguments of the `palace history undo` that removes all rows imported since the last undo. Null in a dry run and without such rows. */
  undo: { client: string; since: string } | null;
} & Pick<MergeReport, "kept" | "keptSources" | "gone" | "beside" | "refused">;

export type JoinOptions = { from: string; isDry: boolean; silent: boolean; signal: AbortSignal };

/** Imports `other`. After an error, the same command continues with the rest. Errors: the broker's errors, STORE_CORRUPT. */
export async function importMemory(client: Client, other: OtherMemory, options: JoinOptions): Promise<Joined> {
  const run = new Run(client, other, options);
  await run.preview();
  faultPoint("import.after-preview");
  if (!options.isDry) await run.write();
  return { ...run.joined(), undo: options.isDry ? null : await undoOf(client, run.importer) };
}

class Run {
  readonly #client: Client;
  readonly #other: OtherMemory;
  readonly #options: JoinOptions;
  /** Counts of the first pass, which only previews. */
  readonly #found = new Tally();
  /** Counts of the second pass, which writes. */
  readonly #written = new Tally();
  /** Our client name in the journal. If we connect with a token, the broker puts the token's name in front. */
  importer = "";
  /** Keys (kind and number) of the parts that contain something to write. */
  readonly #due = new Set<string>();
  /** Keys of sources and drawers that are not imported. */
  readonly #away = new Set<string>();

  constructor(client: Client, other: OtherMemory, options: JoinOptions) {
    this.#client = client;
    this.#other = other;
    this.#options = options;
  }

  async preview(): Promise<void> {
    await this.#each(PREVIEW_ORDER, "comparing", async (whole, at) => {
      const part = this.#wanted(whole);
      if (part === undefined) return;
      const report = await this.#client.call("memory.importPreview", part);
      this.importer = report.importer;
      this.#found.add(part.kind, report);
      if (report.added + report.updated > 0) this.#due.add(`${part.kind} ${at}`);
      for (const source of report.keptSources) this.#away.add(sourceKey(source));
      for (const id of report.gone) this.#away.add(drawerKey(id));
    });
  }

  async write(): Promise<void> {
    await this.#each(IMPORT_KINDS, "importing", async (whole, at) => {
      const part = this.#due.has(`${whole.kind} ${at}`) ? this.#wanted(whole) : undefined;
      if (part === undefined) return;
      const report = await this.#client.call("memory.import", part);
      this.#written.add(part.kind, report);
      faultPoint("import.after-part");
    });
  }

  joined(): Omit<Joined, "undo"> {
    const { from, isDry, signal } = this.#options;
    const { rows, lists } = this.#found;
    const counted = (kind: ImportKind): Joined["rows"][ImportKind] => {
      const { added, updated, here } = rows[kind];
      const done = isDry ? { added, updated } : this.#written.rows[kind];
      return { added: done.added, updated: done.updated, here };
    };
    return {
      ...{ from, kind: this.#other.kind, dryRun: isDry, complete: !signal.aborted },
      rows: Object.fromEntries(IMPORT_KINDS.map((kind) => [kind, counted(kind)])) as Joined["rows"],
      ...lists,
      keptSources: [...new Set(lists.keptSources)],
      notImported: notImported(this.#other),
    };
  }

  /** Returns the part without the rows that are not imported; undefined if no row remains. */
  #wanted(part: ImportPart): ImportPart | undefined {
    const items = part.items.filter((item) => !this.#isAway(part.kind, item));
    return items.length === 0 ? undefined : ({ ...part, items } as ImportPart);
  }

  #isAway(kind: ImportKind, item: ImportItems[ImportKind]): boolean {
    if (kind === "drawer") {
      const { id, rows } = item as ImportItems["drawer"];
      return this.#away.has(drawerKey(id)) || rows.some(({ metadata }) => this.#isSourceAway(minedFrom(metadata)));
    }
    if (kind === "standing") return this.#away.has(drawerKey((item as ImportItems["standing"]).id));
    return (kind === "closet" || kind === "source") && this.#isSourceAway((item as { sourceFile: string }).sourceFile);
  }

  #isSourceAway(source: unknown): boolean {
    return (
      typeof source === "string" && source !== "" && this.#away.has(sourceKey(source.split(MODE_SEPARATOR)[0] ?? ""))
    );
  }

  async #each(
    kinds: readonly ImportKind[],
    doing: string,
    work: (part: ImportPart, at: number) => Promise<void>,
  ): Promise<void> {
    const { from, silent, signal } = this.#options;
    for (const kind of kinds) {
      const total = this.#countOf(kind);
      const tell = teller(silent)(doing, NAMES[kind][1], total);
      let done = 0;
      let at = 0;
      const refuse = (item: object, why: string): void => {
        if (doing === "comparing") this.#found.lists.refused.push({ id: nameOf(item), why });
      };
      const all = readable(ROWS_OF[kind](this.#other.ledger), (item) => refuse(item, UNREADABLE));
      try {
        for (const items of parts(all, IMPORT_ITEMS_MAX, (item) => refuse(item, TOO_LARGE))) {
          if (signal.aborted) return;
          await work({ from, kind, items } as unknown as ImportPart, at++);
          done += items.length;
          tell.step(Math.min(done, total));
        }
      } finally {
        tell.end();
      }
    }
  }

  #countOf(kind: ImportKind): number {
    const table =
      { entity: "kg_entity", triple: "kg_triple", tunnel: "link", hallway: "link", carried: "carried_graph" }[
        kind as string
      ] ?? kind;
    return countRows(this.#other, table);
  }
}

class Tally {
  readonly rows = Object.fromEntries(
    IMPORT_KINDS.map((kind) => [kind, { added: 0, updated: 0, here: 0 }]),
  ) as Joined["rows"];
  readonly lists: Pick<MergeReport, "kept" | "keptSources" | "gone" | "beside" | "refused"> = {
    ...{ kept: [], keptSources: [], gone: [], beside: [], refused: [] },
  };

  add(kind: ImportKind, { added, updated, here, ...lists }: MergeReport): void {
    const row = this.rows[kind];
    row.added += added;
    row.updated += updated;
    row.here += here;
    for (const name of ["kept", "keptSources", "gone"] as const) this.lists[name].push(...lists[name]);
    this.lists.beside.push(...lists.beside);
    this.lists.refused.push(...lists.refused);
  }
}

/** Names of the kinds for progress and result, in singular and plural. */
const NAMES: Readonly<Record<ImportKind, readonly [one: string, many: string]>> = {
  drawer: ["drawer", "drawers"],
  standing: ["drawer's outcomes", "drawers' outcomes"],
  closet: ["closet", "closets"],
  source: ["filing record", "filing records"],
  entity: ["entity", "entities"],
  triple: ["fact", "facts"],
  tunnel: ["tunnel", "tunnels"],
  hallway: ["hallway", "hallways"],
  carried: ["entry of Roampal's graphs", "entries of Roampal's graphs"],
  journal: ["journal row", "journal rows"],
};

export function counted(kind: ImportKind, rows: number): string {
  return `${rows} ${NAMES[kind][rows === 1 ? 0 : 1]}`;
}

function countRows({ ledger }: OtherMemory, table: string): number {
  return ledger.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
}

function notImported(other: OtherMemory): Record<string, number> {
  const all = {
    "marks of conversations": countRows(other, "conversation"),
    "agents' events": other.counts.events,
    artifacts: other.counts.artifacts,
  };
  return Object.fromEntries(Object.entries(all).filter(([, rows]) => rows > 0));
}

/** Returns the arguments that undo the imports since the last undo; null without such an import. `importer`: our name in the journal. */
async function undoOf(client: Client, importer: string): Promise<Joined["undo"]> {
  const undone = await newest(client, { tool: "memory.undo" }, ({ arguments: asked }) => asked["agent"] === importer);
  const brought = await newest(client, { tool: "memory.import", agent: importer }, () => true);
  if (brought === undefined || (undone !== undefined && undone.seq > brought.seq)) return null;
  const since = undone === undefined ? `${UNDO_KEPT_DAYS}d` : new Date(undone.at_ms + 1).toISOString();
  return { client: importer, since };
}

async function newest(
  client: Client,
  of: Pick<AuditRequest, "agent" | "tool">,
  isMeant: (entry: AuditEntry) => boolean,
): Promise<AuditEntry | undefined> {
  for await (const entry of journalRows(client, { ...of, limit: AUDIT_PAGE })) if (isMeant(entry)) return entry;
  return undefined;
}

/** Yields only items that the broker accepts, because one row with nested metadata would make the broker refuse the whole part. */
function* readable(items: Iterable<object>, refuse: (item: object) => void): Generator<object, void> {
  for (const item of items) {
    const { rows, closets } = item as { rows?: readonly ImportedRow[]; closets?: readonly ImportedRow[] };
    if ((rows ?? closets ?? []).every(({ metadata }) => isFlat(metadata))) yield item;
    else refuse(item);
  }
}

function nameOf(item: object): string {
  const { id, sourceFile, closets } = item as { id?: string; sourceFile?: string; closets?: readonly ImportedRow[] };
  return (id ?? sourceFile) || (closets?.[0]?.id ?? "");
}

function sourceKey(source: string): string {
  return `source ${source}`;
}

function drawerKey(id: string): string {
  return `drawer ${id}`;
}
