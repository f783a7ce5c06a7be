/** Tests which requests the TCP port admits, by host name, origin and token, and what it answers after many failures. */
import type { IncomingMessage } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Guard } from "../../../src/broker/door/guard.ts";
import { canTellOwners } from "../../../src/broker/door/socket-owner.ts";
import { requireToken } from "../../../src/broker/door/listen.ts";
import { addToken, TokenBook } from "../../../src/broker/door/tokens.ts";
import { makeNonce, makeToken, proofHeader, tokenId } from "../../../src/protocol/proof.ts";

let folder: string;
let token: string;
let now = 1_000_000;
let guard: Guard;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "guard-"));
  const file = join(folder, "tokens.json");
  ({ token } = addToken(file, { name: "box", role: "agent", expiresAtMs: null }, 1));
  const book = new TokenBook(
    file,
    () => {},
    () => now,
  );
  guard = new Guard(book, ["palace.example"], { now: () => now });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ask = (headers: Record<string, string>, remoteAddress = "192.0.2.1") =>
  guard.admit({ headers, socket: { remoteAddress } } as unknown as IncomingMessage, "/rpc");
const bearer = (): Record<string, string> => ({ authorization: `Bearer ${token}` });

test.skipIf(!canTellOwners())("on paths for the owner's programs, other users' programs need a token", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect(port, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  const book = new TokenBook(join(folder, "none.json"), () => {});
  const admitted = (path: string, headers = {}): boolean => {
    const own = new Guard(book, "loopback", { own: { host: "127.0.0.1", port, paths: "/api/" } });
    return own.admit({ headers: { host: "localhost", ...headers }, socket } as unknown as IncomingMessage, path).ok;
  };
  expect([admitted("/api/x"), admitted("/rpc"), admitted("/api/x", { "sec-fetch-site": "none" })]).toEqual([
    true,
    false,
    false,
  ]);
  const uid = process.getuid?.() ?? 0;
  vi.spyOn(process, "getuid").mockReturnValue(uid + 1);
  expect(admitted("/api/x")).toBe(false);
  client.destroy();
  server.close();
});

test.each(["evil.example", "palace.example.evil.example", "", "localhost:80:80"])(
  "the guard refuses the host %j of a request with a valid token",
  (host) => {
    const refused = { ok: false, status: 421, why: "this broker does not accept that host name" };
    expect(ask({ ...bearer(), host })).toMatchObject(refused);
  },
);

test.each(["https://evil.example", "http://palace.example.evil.example", "null", "file://palace.example"])(
  "the guard refuses a page from %s with a valid token",
  (origin) => {
    const refused = { ok: false, status: 403, why: "pages of another origin may not call a palace" };
    expect(ask({ ...bearer(), host: "palace.example:7780", origin })).toMatchObject(refused);
  },
);

test.each([
  "palace.example",
  "PALACE.example:7780",
  "localhost",
  "host.docker.internal:1",
  "192.168.1.2",
  "[::1]:7780",
])("the guard admits a request for %s with a valid token, also from a page of that host", (host) => {
  expect(ask({ ...bearer(), host })).toMatchObject({ ok: true, token: { name: "box" } });
  expect(ask({ ...bearer(), host, origin: `http://${host}` })).toMatchObject({ ok: true });
});

test("after ten failures in a minute an address gets only a retry time, and a valid token still works", () => {
  const host = "palace.example";
  const wanted = { status: 401, why: "a token is needed", headers: { "www-authenticate": "Bearer, Palace" } };
  for (let failure = 1; failure <= 10; failure++) expect(ask({ host })).toMatchObject(wanted);
  now += 1_000;
  expect(ask({ host })).toMatchObject({ status: 429, why: "too many failures", headers: { "retry-after": "59" } });
  expect(ask({ host: "evil.example" })).toMatchObject({ status: 429 });
  expect(ask({ host }, "192.0.2.2")).toMatchObject({ status: 401 });
  expect(ask({ host, ...bearer() })).toMatchObject({ ok: true });
  const wrong = { status: 401, why: "that token is wrong, revoked or expired" };
  expect(ask({ host, authorization: "Bearer nonsense" }, "192.0.2.3")).toMatchObject(wrong);
  // The minute began with the first failure, so now it is over.
  now += 59_001;
  expect(ask({ host })).toMatchObject(wanted);
});

test("the guard forgets an address after failures of 10,000 newer addresses", () => {
  const host = "palace.example";
  for (let failure = 0; failure < 10; failure++) ask({ host });
  expect(ask({ host })).toMatchObject({ status: 429 });
  for (let address = 0; address < 10_000; address++) ask({ host }, `2001:db8::${address.toString(16)}`);
  expect(ask({ host })).toMatchObject({ status: 401 });
});

test("the guard admits a proof once, and only with the right token and the connection's nonce", () => {
  const request = { headers: {}, socket: { remoteAddress: "192.0.2.1" } } as unknown as IncomingMessage;
  const id = tokenId(token) ?? "";
  const prove = (secret: string, serverNonce: string) => {
    request.headers = {
      host: "palace.example",
      authorization: proofHeader(secret, { path: "/rpc", id, clientNonce: makeNonce(), serverNonce }),
    };
    return guard.admit(request, "/rpc");
  };
  expect(prove(token, makeNonce())).toMatchObject({ ok: false, status: 401 });
  expect(prove(makeToken().token, guard.challenge(request))).toMatchObject({ ok: false, status: 401 });
  guard.challenge(request);
  expect(prove(token, makeNonce())).toMatchObject({ ok: false, status: 401 });
  const nonce = guard.challenge(request);
  expect(prove(token, nonce)).toMatchObject({ ok: true, token: { name: "box" } });
  expect(prove(token, nonce)).toMatchObject({ ok: false, status: 401 });
});

test("the guard refuses a request without a readable proof", () => {
  const request = { headers: {}, socket: { remoteAddress: "192.0.2.1" } } as unknown as IncomingMessage;
  for (const authorization of ["Palace nonsense", undefined]) {
    guard.challenge(request);
    request.headers = { host: "palace.example", ...(authorization !== undefined && { authorization }) };
    expect(guard.admit(request, "/rpc")).toMatchObject({ ok: false, status: 401 });
  }
});

test("listening on a public address needs a token, and listening on loopback does not", () => {
  const open = (host: string, tokens: number) => () => requireToken({ host, port: 7780 }, tokens);
  expect(open("192.0.2.1", 0)).toThrow(/can be reached from elsewhere/);
  for (const allowed of [open("192.0.2.1", 1), open("127.0.0.1", 0), open("::1", 0)]) expect(allowed).not.toThrow();
});
