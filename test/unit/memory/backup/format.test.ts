/** Tests of a backup's file format: a backup with any changed byte is refused. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync, zstdCompressSync } from "node:zlib";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lookInto } from "../../../../src/memory/backup/look.ts";
import { EVENTS, LEDGER } from "../../../../src/memory/backup/contents.ts";
import { formatManifest, MANIFEST, type ManifestBody, SEAL } from "../../../../src/memory/backup/manifest.ts";
import { packArchive, writeWhole } from "../../../../src/memory/backup/pack.ts";
import { leaveStaged, namesToPutBack, stageBackup } from "../../../../src/memory/backup/restore.ts";
import { encrypted } from "../../../../src/memory/backup/secret.ts";
import { planSwap } from "../../../../src/memory/backup/swap.ts";
import { padding, tarHeader } from "../../../../src/memory/backup/tar.ts";
import { unpackArchive } from "../../../../src/memory/backup/unpack.ts";
import { unpackVerified } from "../../../../src/memory/backup/verify.ts";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";
import { fuzz } from "../../../fuzz/harness.ts";

let folder: string;
let archive: Buffer;
let body: ManifestBody;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "backup-"));
  const source = join(folder, "source");
  mkdirSync(source);
  const ledger = openForWriting(join(source, "l"));
  ledger.prepare("VACUUM INTO ?").run(join(source, LEDGER));
  ledger.close();
  writeFileSync(join(source, "tokens.json"), '{"schema":1,"tokens":[]}');
  const files = [LEDGER, "tokens.json"].map((name) => {
    const bytes = readFileSync(join(source, name));
    return { name, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  });
  body = { version: "0", madeAtMs: 1, ...lookInto(source), leftOut: [], files };
  archive = await bytesOf(packArchive(source, body));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("verifying a backup returns the files that were packed", async () => {
  const { manifest } = await verify(archive);
  expect(manifest.files).toEqual(body.files);
});

test("a verification returns the backup's size in bytes", async () => {
  expect((await verify(archive)).bytes).toBe(archive.length);
});

test("a flipped bit is found in each part: headers, manifest, files, padding, seal, end", async () => {
  const at = new Set<number>();
  // Tries every eleventh byte outside the ledger's pages, and a sample of the pages' bytes.
  const ledgerFrom = 512 + formatManifest(body).length + padding(formatManifest(body).length) + 512;
  const ledgerTo = ledgerFrom + (body.files[0]?.size ?? 0);
  for (let byte = 0; byte < archive.length; byte += byte > ledgerFrom && byte < ledgerTo - 9_973 ? 9_973 : 11)
    at.add(byte);
  const unnoticed: number[] = [];
  for (const byte of at) {
    const changed = Buffer.from(archive);
    changed[byte] = (changed[byte] ?? 0) ^ (1 << (byte % 8));
    const into = join(folder, "flip");
    mkdirSync(into);
    await unpackArchive(pieces(changed), { folder: into, bytesMax: changed.length }).then(
      () => unnoticed.push(byte),
      () => {},
    );
    rmSync(into, { recursive: true });
  }
  expect(at.size).toBeGreaterThan(500);
  expect(unnoticed).toEqual([]);
});

test.each([
  ["gzip", gzipSync],
  ["zstd", zstdCompressSync],
])("a backup compressed with %s is refused with the command that decompresses it", async (program, compress) => {
  const hint = `decompress it first: ${program} -dc FILE > backup.tar`;
  await expect(verify(compress(archive))).rejects.toMatchObject({
    ...{ code: "CONFIG_USAGE", message: `the backup is compressed with ${program}`, hint },
  });
});

test("a byte after the end of the archive is refused, whether it arrives in the last chunk or in a separate chunk", async () => {
  const more = Buffer.from("x");
  for (const given of [[Buffer.concat([archive, more])], [archive, more]]) {
    const into = join(folder, "into");
    mkdirSync(into);
    const unpacked = unpackArchive(Readable.from(given), { folder: into, bytesMax: archive.length + 1 });
    await expect(unpacked).rejects.toThrow(/bytes after its end/);
    rmSync(into, { recursive: true });
  }
});

test("a flipped bit of an encrypted backup is found, and a wrong passphrase is refused", async () => {
  const sealed = await bytesOf(await encrypted(pieces(archive), "secret", 10));
  expect((await verify(sealed, "secret")).isEncrypted).toBe(true);
  await expect(verify(sealed, "other")).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  await expect(verify(sealed)).rejects.toMatchObject({ code: "CONFIG_USAGE" });
  // Changes one byte each of the magic, the recipient, the header's MAC, the nonce, a chunk and the last tag.
  const mac = sealed.indexOf("\n---");
  for (const byte of [3, 30, 60, mac + 10, mac + 55, sealed.length >> 1, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[byte] = (changed[byte] ?? 0) ^ 1;
    await expect(verify(changed, "secret"), `byte ${byte}`).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  }
  await expect(verify(sealed.subarray(0, -70_000), "secret")).rejects.toMatchObject({ code: "STORE_CORRUPT" });
});

test("a backup is refused if its numbers of rows, its last journal row or its schema differ from its manifest", async () => {
  const said = async (change: Partial<ManifestBody>): Promise<unknown> =>
    verify(await bytesOf(packArchive(join(folder, "source"), { ...body, ...change }))).then(
      () => "it was taken",
      (error: Error) => error.message,
    );
  const { counts } = body;
  for (const name of Object.keys(counts) as (keyof typeof counts)[])
    expect(await said({ counts: { ...counts, [name]: counts[name] + 1 } })).toBe(
      `the backup cannot be used: it holds ${counts[name]} ${name}, and its manifest says ${counts[name] + 1}`,
    );
  const moment = "the backup cannot be used: its ledger has another state than its manifest says";
  expect(await said({ journalSeq: body.journalSeq + 1 })).toBe(moment);
  expect(await said({ ledgerSchema: body.ledgerSchema - 1 })).toBe(moment);
  expect(await said({})).toBe("it was taken");
});

test.each([
  ["a path that leads out", "../escaped"],
  ["an absolute path", "/tmp/escaped"],
  ["a file of the home that is not a backup's", "broker.lock"],
  ["a database's log", "ledger.sqlite3-wal"],
])("an otherwise valid archive that names %s is refused, and no file is written there", async (_what, name) => {
  const forged = forge([
    { name: LEDGER, bytes: Buffer.alloc(512) },
    { name, bytes: Buffer.from("x") },
  ]);
  await expect(verify(forged)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  expect(readdirSync(folder)).not.toContain("escaped");
  expect(existsSync("/tmp/escaped")).toBe(false);
});

test("a backup with a link in place of a file is refused", async () => {
  const linked = Buffer.from(archive);
  const at = linked.indexOf("tokens.json\0");
  linked.write("2", at + 156);
  await expect(verify(linked)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
});

test("an archive that claims more bytes than it has is refused before a byte is written", async () => {
  const bomb = forge([{ name: LEDGER, bytes: Buffer.alloc(512), size: 2 ** 45 }]);
  const into = join(folder, "into");
  mkdirSync(into);
  await expect(unpackArchive(pieces(bomb), { folder: into, bytesMax: bomb.length })).rejects.toThrow(/cut short/);
  expect(readdirSync(into)).toEqual([]);
  const huge = Buffer.concat([tarHeader(MANIFEST, 2 ** 40), Buffer.alloc(4096)]);
  await expect(verify(huge)).rejects.toThrow(/not a palace backup/);
});

test.each([
  ["ledger", LEDGER, "CREATE TRIGGER own AFTER INSERT ON drawer BEGIN DELETE FROM journal; END"],
  [
    "ledger, under the name of one of ours,",
    LEDGER,
    "DROP TRIGGER journal_gone; CREATE TRIGGER journal_gone AFTER DELETE ON journal BEGIN DELETE FROM drawer; END",
  ],
  ["ledger as a view", LEDGER, "CREATE VIEW own AS SELECT 1"],
  [
    "logstream",
    EVENTS,
    "CREATE TABLE events (a); CREATE TRIGGER own AFTER INSERT ON events BEGIN DELETE FROM events; END",
  ],
])("a trigger or view in the %s is refused, even if every hash is right", async (_what, name, sql) => {
  const database = new Database(join(folder, "source", name));
  database.exec(sql);
  database.close();
  const names = [...new Set([LEDGER, name])];
  const forged = forge(names.map((one) => ({ name: one, bytes: readFileSync(join(folder, "source", one)) })));
  await expect(verify(forged)).rejects.toThrow(/of its own/);
});

test("a backup whose time is beyond the range of dates is refused", async () => {
  const forged = forge([{ name: LEDGER, bytes: Buffer.alloc(512) }], { ...body, madeAtMs: 8.64e15 + 1 });
  await expect(verify(forged)).rejects.toThrow(/manifest is incomplete/);
});

test.each([
  ["{}", true],
  ['{"palace\\u005fpath": "/elsewhere"}', false],
  ['{"collection_name": "x"}', false],
  ["{", false],
])(
  "a restore puts back the settings %s: %s; it restores tokens only on request, and never a door's address",
  async (text, isPutBack) => {
    const bytes = readFileSync(join(folder, "source", LEDGER));
    const [config, tokens, listen] = ["config.json", "tokens.json", "listen.json"];
    const forged = forge([
      { name: LEDGER, bytes },
      { name: config, bytes: Buffer.from(text) },
      ...[tokens, listen].map((name) => ({ name, bytes: Buffer.from("{}") })),
    ]);
    const file = join(folder, "given");
    writeFileSync(file, forged);
    const staged = await stageBackup(file, folder, { passphrase: () => Promise.resolve(undefined) });
    const home = { home: folder, palaceDir: join(folder, "p"), ledgerFile: join(folder, LEDGER) };
    const paths = { ...home, graphFile: "/g", tunnelsFile: "/t", hallwaysFile: "/h" };
    const come = (withTokens: boolean): string[] =>
      planSwap(paths, { file, staged: staged.folder, names: namesToPutBack(staged, withTokens) }, false).come;
    expect(come(false)).toEqual([...(isPutBack ? [config] : []), LEDGER]);
    expect(come(true)).toEqual([...(isPutBack ? [config] : []), tokens, LEDGER]);
    leaveStaged(folder, staged);
  },
);

test("a backup of a newer version is refused as newer, not as damaged", async () => {
  const newer = forge([{ name: LEDGER, bytes: Buffer.alloc(512) }], body, { schema: 2 });
  await expect(verify(newer)).rejects.toMatchObject({ code: "PROTOCOL_VERSION_MISMATCH" });
});

test("the archive writes sizes beyond 8 GiB as GNU tar does", () => {
  const header = tarHeader(LEDGER, 2 ** 34);
  expect(header[124]).toBe(0x80);
  expect(header.readBigUInt64BE(128)).toBe(2n ** 34n);
});

test("a backup file appears only when it is complete", async () => {
  const file = join(folder, "out.tar");
  writeFileSync(join(folder, ".out.tar.01234567.part"), "what a killed writer has left");
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    await Promise.resolve();
    throw new Error("the disk");
  }
  await expect(writeWhole(file, failing())).rejects.toThrow("the disk");
  expect(readdirSync(folder)).toEqual(["source"]);
  await writeWhole(file, pieces(archive));
  expect(readdirSync(folder).sort()).toEqual(["out.tar", "source"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

fuzz<{ cut: number; flips: number[] }>("a hostile archive is refused with a typed error", {
  count: 300,
  generate: (chooser) => ({
    cut: chooser.between(0, 8_000),
    flips: Array.from({ length: chooser.between(0, 5) }, () => chooser.between(0, 8_000)),
  }),
  check: async ({ cut, flips }) => {
    const changed = Buffer.from(archive.subarray(0, archive.length - cut));
    for (const at of flips) changed[at] = (changed[at] ?? 0) ^ 0x5a;
    if (changed.equals(archive)) return;
    await expect(verify(changed)).rejects.toMatchObject({ name: "PalaceError" });
    expect(readdirSync(folder).sort()).toEqual(["given", "source"]);
  },
});

async function verify(bytes: Buffer, passphrase?: string): ReturnType<typeof unpackVerified> {
  const file = join(folder, "given");
  writeFileSync(file, bytes);
  const into = join(folder, "into");
  const verified = await unpackVerified(file, { folder: into, passphrase: () => Promise.resolve(passphrase) });
  rmSync(into, { recursive: true });
  return verified;
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 60_000) {
    yield bytes.subarray(at, at + 60_000);
    await Promise.resolve();
  }
}

async function bytesOf(from: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of from) all.push(piece);
  return Buffer.concat(all);
}

/** Returns an archive by an attacker who knows the format: every checksum is right. */
function forge(
  files: { name: string; bytes: Buffer; size?: number }[],
  of: ManifestBody = body,
  more: object = {},
): Buffer {
  const listed = files.map(({ name, bytes, size = bytes.length }) => ({
    name,
    size,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  }));
  const manifest = JSON.parse(formatManifest({ ...of, files: listed }).toString()) as object;
  const entry = (name: string, bytes: Buffer, size = bytes.length): Buffer[] => [
    tarHeader(name, size),
    bytes,
    Buffer.alloc(padding(bytes.length)),
  ];
  const before = Buffer.concat([
    ...entry(MANIFEST, Buffer.from(JSON.stringify({ ...manifest, ...more }))),
    ...files.flatMap(({ name, bytes, size }) => entry(name, bytes, size)),
  ]);
  const seal = Buffer.from(`${createHash("sha256").update(before).digest("hex")}\n`);
  return Buffer.concat([before, ...entry(SEAL, seal), Buffer.alloc(1024)]);
}
