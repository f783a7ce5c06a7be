/** A backup's manifest may come from anywhere. Each missing field, wrong type and value out of range is refused. */
import { expect, test } from "vitest";
import { EVENTS, LEDGER } from "../../../../src/memory/backup/contents.ts";
import { formatManifest, type ManifestBody, parseManifest } from "../../../../src/memory/backup/manifest.ts";

const SUM = "0".repeat(64);
const counts = {
  drawers: 1,
  vectors: 0,
  closets: 0,
  facts: 0,
  links: 0,
  sources: 0,
  journal: 1,
  events: 0,
  artifacts: 0,
};
const ledger = { name: LEDGER, size: 10, sha256: SUM };
const body: ManifestBody = {
  ...{ version: "1", madeAtMs: 8.64e15, ledgerSchema: 0, journalSeq: 3, counts, leftOut: ["old"] },
  ...{ unreadable: [{ name: EVENTS, why: "closed" }], files: [ledger, { ...ledger, name: EVENTS, size: 0 }] },
};

const parse = (change: (manifest: Record<string, unknown>) => unknown): unknown => {
  const manifest = JSON.parse(formatManifest(body).toString()) as Record<string, unknown>;
  return parseManifest(Buffer.from(JSON.stringify(change(manifest))));
};
const refusal = (why: string) =>
  expect.objectContaining({ code: "STORE_CORRUPT", message: `the backup cannot be used: ${why}` });

test("a complete manifest is read as written, with or without the list of unreadable files", () => {
  expect(parse((manifest) => manifest)).toEqual({ kind: "palace-devbox backup", schema: 1, ...body });
  expect(parse(({ unreadable: _, ...rest }) => rest)).not.toHaveProperty("unreadable");
});

test.each<[string, Record<string, unknown>]>([
  ["a version that is not a text", { version: 1 }],
  ["no time", { madeAtMs: undefined }],
  ["a negative time", { madeAtMs: -1 }],
  ["a time beyond the range of dates", { madeAtMs: 8.64e15 + 2 }],
  ["a schema that is not a whole number", { ledgerSchema: 1.5 }],
  ["a journal row that is a text", { journalSeq: "3" }],
  ["no counts", { counts: null }],
  ["a negative count", { counts: { ...counts, drawers: -1 } }],
  ["a count beyond the exact integers", { counts: { ...counts, drawers: 2 ** 53 } }],
  ["a text in place of the list of left-out collections", { leftOut: "old" }],
  ["a left-out collection without a name", { leftOut: [1] }],
  ["unread files that are not a list", { unreadable: {} }],
  ["an unread file without a reason", { unreadable: [{ name: EVENTS }] }],
  ["an unread file without a name", { unreadable: [{ why: "closed" }] }],
  ["files that are not a list", { files: {} }],
  ["no file", { files: [] }],
  ["a file that is null", { files: [ledger, null] }],
  ["a file with a name that no file of a backup has", { files: [ledger, { ...ledger, name: "../x" }] }],
  ["a file without a size", { files: [{ name: LEDGER, sha256: SUM }] }],
  ["a file with a checksum that is too short", { files: [{ ...ledger, sha256: SUM.slice(1) }] }],
  ["a file with a checksum that is not hexadecimal", { files: [{ ...ledger, sha256: "g".repeat(64) }] }],
  ["the same file twice", { files: [ledger, ledger] }],
  ["the ledger after another file", { files: [{ ...ledger, name: EVENTS }, ledger] }],
])("a manifest with %s is refused", (_what, change) => {
  expect(() => parse((manifest) => ({ ...manifest, ...change }))).toThrow(refusal("its manifest is incomplete"));
});

test.each<[string, unknown]>([
  ["another kind", { ...body, kind: "another backup", schema: 1 }],
  ["a list", []],
  ["nothing", null],
])("%s is refused, because this program did not write it", (_what, value) => {
  expect(() => parse(() => value)).toThrow(refusal("it is not a palace backup"));
});

test("invalid JSON and a manifest of a newer version get different errors", () => {
  expect(() => parseManifest(Buffer.from("{"))).toThrow(refusal("its manifest is not JSON"));
  expect(() => parse((manifest) => ({ ...manifest, schema: 2, version: "9.9" }))).toThrow(
    expect.objectContaining({
      code: "PROTOCOL_VERSION_MISMATCH",
      message: "the backup was made by a newer palace-devbox (9.9)",
    }),
  );
});
