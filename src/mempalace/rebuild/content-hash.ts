/** Hashes rows so that their order does not matter: adds up the SHA-256 of each row. */
import { hash } from "node:crypto";
import { canonical } from "../../memory/ledger/record.ts";
import type { Metadata } from "../../memory/port/drawer.ts";

const MASK = (1n << 256n) - 1n;

export class ContentHash {
  #sum = 0n;
  rows = 0;

  add({ id, text, metadata }: { id: string; text: string; metadata: Metadata }): void {
    const said = JSON.stringify([id.toWellFormed(), text.toWellFormed(), canonical(metadata)]);
    this.#sum = (this.#sum + BigInt(`0x${hash("sha256", said)}`)) & MASK;
    this.rows += 1;
  }

  get hex(): string {
    return this.#sum.toString(16).padStart(64, "0");
  }
}
