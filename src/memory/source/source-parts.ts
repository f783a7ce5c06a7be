/**
 * Stores the parts of a document that is too long for one message, until `source.replace` files the whole text. If two feeders send the
 * same source, only the parts of the newer feeder are accepted, so that parts never mix.
 */
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { SOURCE_PART_MAX, SOURCE_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { InvalidValue } from "../text/validate.ts";
import { countIn, filledTextIn } from "./params.ts";

/** Stores one part of a document. Errors: PROTOCOL_BAD_PARAMS. */
export function addPart(tx: LedgerTx, { params, atMs }: WriteCall): { held: number } {
  const { sourceFile, sending, from, text } = readPart(params);
  if (from === 0) tx.parts.drop(sourceFile);
  else assertHeld(tx, sourceFile, sending, from);
  tx.parts.put({ sourceFile, sending, from, text, atMs });
  return { held: from + text.length };
}

/** Returns the document that earlier calls sent in parts, without deleting the parts. Errors: PROTOCOL_BAD_PARAMS. */
export function sentText(tx: LedgerTx, sourceFile: string, parts: unknown): string {
  const { sending, length } = (typeof parts === "object" && parts !== null ? parts : {}) as Record<string, unknown>;
  if (typeof sending !== "string" || sending === "" || typeof length !== "number" || !(length > 0))
    throw new InvalidValue("parts must be an object of sending and length");
  assertHeld(tx, sourceFile, sending, length);
  return tx.parts.text(sourceFile);
}

function assertHeld(tx: LedgerTx, sourceFile: string, sending: string, length: number): void {
  const held = tx.parts.held(sourceFile, sending);
  if (held === length) return;
  const why = `the broker has ${held} characters, not ${length}; another client sends this document too, or the parts are too old`;
  throw new InvalidValue(`the part does not continue the earlier parts: ${why}; send all parts again`);
}

function readPart(params: Record<string, unknown>) {
  const part = {
    sourceFile: filledTextIn(params, "sourceFile"),
    sending: filledTextIn(params, "sending"),
    text: filledTextIn(params, "content"),
    from: countIn(params, "from"),
  };
  if (part.text.length > SOURCE_PART_MAX) throw new InvalidValue(`content exceeds ${SOURCE_PART_MAX} characters`);
  if (part.from + part.text.length > SOURCE_SIZE_MAX_BYTES)
    throw new InvalidValue(`the document exceeds ${SOURCE_SIZE_MAX_BYTES} characters`);
  return part;
}
