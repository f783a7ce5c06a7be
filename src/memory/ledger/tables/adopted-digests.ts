/**
 * Digests of adopted drawers whose vector the palace does not hold: each tells what the palace held at adoption. As
 * long as such a drawer still has that digest, the palace's version is the newest, and a change over there is adopted
 * although the drawer was never sent. `meta` holds one key for each drawer; it is deleted when we change the drawer,
 * and when the palace has got the drawer from us. Used by this folder and mempalace/adopt/foreign-rows.ts.
 */
import { hash } from "node:crypto";
import type { Metadata } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { canonical } from "../record.ts";

/** SQL: the key of the drawer whose id is `id`. */
export const adoptedKey = (id: string): string => `'adopted:' || ${id}`;

type Content = { text: string; metadata: Metadata };

export function isAsAdopted(drawer: Content, digest: string | null | undefined): boolean {
  return digest !== null && digest !== undefined && digest === digestOf(drawer);
}

function digestOf({ text, metadata }: Content): string {
  return hash("sha256", `${text.toWellFormed()}\0${canonical(metadata)}`);
}

/** Concurrency: within a transaction of the writer thread. */
export class AdoptedDigests {
  readonly #get;
  readonly #put;
  readonly #drop;
  readonly #dropSource;

  constructor(database: LedgerDatabase) {
    const key = adoptedKey("?");
    this.#get = database.prepare<[string], string>(`SELECT value FROM meta WHERE key = ${key}`).pluck();
    this.#put = database.prepare(`INSERT OR REPLACE INTO meta VALUES (${key}, ?)`);
    this.#drop = database.prepare(`DELETE FROM meta WHERE key = ${key}`);
    this.#dropSource = database.prepare(
      `DELETE FROM meta WHERE key IN (SELECT ${adoptedKey("id")} FROM drawer WHERE source_file = ? AND source_file <> '')`,
    );
  }

  holds(id: string, drawer: Content): boolean {
    return isAsAdopted(drawer, this.#get.get(id));
  }

  put(id: string, drawer: Content): void {
    this.#put.run(id, digestOf(drawer));
  }

  drop(id: string): void {
    this.#drop.run(id);
  }

  dropSource(sourceFile: string): void {
    this.#dropSource.run(sourceFile);
  }
}
