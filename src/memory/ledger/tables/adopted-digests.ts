/**
 * Digests (in `meta`) of adopted drawers that had no vector in the palace. If the ledger's drawer still matches its digest, only the palace
 * can have changed it since the adoption, and the palace's change is adopted.
 */
import { hash } from "node:crypto";
import type { Metadata } from "../../port/drawer.ts";
import type { LedgerDatabase } from "../open.ts";
import { canonical } from "../record.ts";

/** Returns SQL for the key in `meta`. `id`: SQL for the drawer's id. */
export const adoptedKey = (id: string): string => `'adopted:' || ${id}`;

type Content = { text: string; metadata: Metadata };

export function isAsAdopted(drawer: Content, digest: string | null | undefined): boolean {
  return digest !== null && digest !== undefined && digest === digestOf(drawer);
}

function digestOf({ text, metadata }: Content): string {
  return hash("sha256", `${text.toWellFormed()}\0${canonical(metadata)}`);
}

/** Use it only inside a transaction. */
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
