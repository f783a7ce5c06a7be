/**
 * Mutual proof on the TCP door: client and server prove that they know a token without sending it, as in SCRAM (RFC 5802). Unlike SCRAM's
 * password, a token is random and needs no key stretching. The server stores only `TokenKeys`, with which a thief cannot log in.
 *   client → GET /auth                                             server → 401, Palace-Challenge: <server nonce>
 *   client → Authorization: Palace id, client nonce, server nonce, proof    server → Palace-Proof: <signature>
 * The client loads this file only when it dials TCP.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Keys derived from a token, each 32 bytes as base64url. */
export type TokenKeys = { storedKey: string; serverKey: string };

/** Values that both proofs sign, so that a proof is valid for only one request on one connection. */
export type ProofContext = { path: string; id: string; clientNonce: string; serverNonce: string };

export const AUTH_PATH = "/auth";
export const CHALLENGE_HEADER = "palace-challenge";
export const PROOF_HEADER = "palace-proof";
const SCHEME = "Palace";

const TOKEN = /^pdx_([A-Za-z0-9_-]{8})_([A-Za-z0-9_-]{43})$/;

/** Makes a new token. The caller shows it once and never stores it. */
export function makeToken(): { id: string; token: string } {
  const id = randomBytes(6).toString("base64url");
  return { id, token: `pdx_${id}_${randomBytes(32).toString("base64url")}` };
}

/** Returns the token's public part, by which the server finds the token's keys. Returns undefined if `token` is malformed. */
export function tokenId(token: string): string | undefined {
  return TOKEN.exec(token)?.[1];
}

export function makeNonce(): string {
  return randomBytes(24).toString("base64url");
}

export function keysOf(token: string): TokenKeys {
  return {
    storedKey: sha256(clientKey(token)).toString("base64url"),
    serverKey: hmac(token, "Server Key").toString("base64url"),
  };
}

/** Returns the value of the `Authorization` header, which contains the client's proof. */
export function proofHeader(token: string, context: ProofContext): string {
  const key = clientKey(token);
  const signature = hmac(sha256(key), message(context));
  const proof = Buffer.from(key.map((byte, index) => byte ^ (signature[index] ?? 0)));
  const { id, clientNonce, serverNonce } = context;
  return `${SCHEME} ${id}.${clientNonce}.${serverNonce}.${proof.toString("base64url")}`;
}

/** Reads an `Authorization` header. Returns undefined for another scheme or a malformed value. */
export function parseProofHeader(header: string): (Omit<ProofContext, "path"> & { proof: string }) | undefined {
  const match = /^Palace ([\w-]{8})\.([\w-]{16,64})\.([\w-]{16,64})\.([\w-]{43})$/.exec(header);
  if (match === null) return undefined;
  const [, id = "", clientNonce = "", serverNonce = "", proof = ""] = match;
  return { id, clientNonce, serverNonce, proof };
}

export function isProof(keys: TokenKeys, context: ProofContext, proof: string): boolean {
  const storedKey = Buffer.from(keys.storedKey, "base64url");
  const signature = hmac(storedKey, message(context));
  const key = Buffer.from(Buffer.from(proof, "base64url").map((byte, index) => byte ^ (signature[index] ?? 0)));
  return isEqual(sha256(key), storedKey);
}

/** Returns true if the token is right. For standard MCP clients, which send the token itself and no proof. */
export function isToken(keys: TokenKeys, token: string): boolean {
  return isEqual(sha256(clientKey(token)), Buffer.from(keys.storedKey, "base64url"));
}

export function serverProof(keys: TokenKeys, context: ProofContext): string {
  return hmac(Buffer.from(keys.serverKey, "base64url"), message(context)).toString("base64url");
}

function clientKey(token: string): Buffer {
  return hmac(token, "Client Key");
}

function message({ path, id, clientNonce, serverNonce }: ProofContext): string {
  return ["palace-proof-1", path, id, clientNonce, serverNonce].join("\n");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function sha256(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}

export function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
