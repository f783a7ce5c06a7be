/** Tests without a network which tokens and proofs are valid, and when. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addToken, readTokens, revokeToken, TokenBook } from "../../../src/broker/door/tokens.ts";
import {
  isProof,
  isToken,
  keysOf,
  makeNonce,
  makeToken,
  parseProofHeader,
  proofHeader,
  serverProof,
  tokenId,
} from "../../../src/protocol/proof.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tokens-"));
  file = join(folder, "tokens.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a token is valid until it expires or is revoked", () => {
  let now = 1_000;
  const broken = vi.fn();
  const book = new TokenBook(file, broken, () => now);
  const { record } = addToken(file, { name: "a", role: "agent", expiresAtMs: 2_000 }, now);
  expect(book.find(record.id)?.name).toBe("a");
  now = 2_000;
  expect(book.find(record.id)).toBeUndefined();
  now = 1_999;
  expect(revokeToken(file, "a")).toBe(true);
  expect(revokeToken(file, "a")).toBe(false);
  expect(book.find(record.id)).toBeUndefined();
  expect(broken).not.toHaveBeenCalled();
});

test("with a damaged token file the broker admits nobody, and no token can be added", () => {
  const book = new TokenBook(file, () => {});
  const { record } = addToken(file, { name: "a", role: "agent" });
  expect(book.find(record.id)).toBeDefined();
  writeFileSync(file, "{ not json");
  expect(book.find(record.id)).toBeUndefined();
  expect(() => addToken(file, { name: "b", role: "agent" })).toThrow(/is not a token file/);
  expect(() => readTokens(file)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
});

test.each([{ role: "owner" }, { storedKey: "" }, { name: 1 }, { expiresAtMs: "never" }])(
  "a token with the field %j makes the whole file invalid",
  (field) => {
    const { record } = addToken(file, { name: "a", role: "agent" });
    writeFileSync(file, JSON.stringify({ schema: 1, tokens: [{ ...record, ...field }] }));
    expect(() => readTokens(file)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
    expect(new TokenBook(file, () => {}).find(record.id)).toBeUndefined();
  },
);

test.each(["", "a b", "../x", "x".repeat(64), "-a"])("%j is not accepted as a token's name", (name) => {
  expect(() => addToken(file, { name, role: "agent" })).toThrow(expect.objectContaining({ code: "CONFIG_BAD_VALUE" }));
});

test("a second token with the same name is refused", () => {
  addToken(file, { name: "a", role: "agent" });
  expect(() => addToken(file, { name: "a", role: "reader" })).toThrow(/already/);
  expect(readTokens(file).map(({ role }) => role)).toEqual(["agent"]);
});

test("a proof is valid only for its token, path and nonces", () => {
  const { id, token } = makeToken();
  const keys = keysOf(token);
  const context = { path: "/mcp", id, clientNonce: makeNonce(), serverNonce: makeNonce() };
  const given = parseProofHeader(proofHeader(token, context));
  expect(given).toMatchObject({ id, clientNonce: context.clientNonce, serverNonce: context.serverNonce });
  const proof = given?.proof ?? "";
  expect(isProof(keys, context, proof)).toBe(true);
  for (const other of [
    { ...context, path: "/health" },
    { ...context, clientNonce: makeNonce() },
    { ...context, serverNonce: makeNonce() },
    { ...context, id: "AAAAAAAA" },
  ])
    expect(isProof(keys, other, proof)).toBe(false);
  expect(isProof(keysOf(makeToken().token), context, proof)).toBe(false);
  expect(serverProof(keys, context)).not.toBe(serverProof(keys, { ...context, serverNonce: makeNonce() }));
});

test("another token, and a token with a missing or added character, is refused", () => {
  const { id, token } = makeToken();
  expect(tokenId(token)).toBe(id);
  expect(isToken(keysOf(token), token)).toBe(true);
  expect(isToken(keysOf(token), makeToken().token)).toBe(false);
  for (const text of ["", "pdx_", `${token}x`, ` ${token}`, token.slice(1)]) expect(tokenId(text)).toBeUndefined();
});
