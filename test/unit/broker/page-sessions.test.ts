/** Tests the links that open the page, and the page's sessions: which requests each allows, and for how long. */
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { LINK_MAX_MS, Sessions } from "../../../src/broker/page/sessions.ts";

const HOST = "127.0.0.1:4711";

function request(headers: Record<string, string>): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers: { host: HOST, ...headers } });
}

test("a link to the page can be used once, and is valid for a minute", () => {
  let nowMs = 0;
  const sessions = new Sessions(() => nowMs);
  const { token, expiresAtMs } = sessions.addLink("reader");
  expect(expiresAtMs).toBe(LINK_MAX_MS);
  expect(sessions.exchange(`${token}x`)).toBeUndefined();
  expect(sessions.exchange(token)?.role).toBe("reader");
  expect(sessions.exchange(token)).toBeUndefined();
  const late = sessions.addLink("admin");
  nowMs = LINK_MAX_MS + 1;
  expect(sessions.exchange(late.token)).toBeUndefined();
});

test("a page's session has the role of its link, until all sessions are cleared", () => {
  const sessions = new Sessions();
  const { bearer = "" } = sessions.exchange(sessions.addLink("agent").token) ?? {};
  const own = request({ authorization: `Bearer ${bearer}` });
  expect(sessions.admit(own, "/ui/rpc")).toMatchObject({ ok: true, token: { name: "ui", role: "agent" } });
  sessions.clear();
  expect(sessions.admit(own, "/ui/rpc")).toMatchObject({ ok: false, status: 401 });
});

test("a page's session ends when the token of the client that asked for its link is revoked", () => {
  const valid = new Set(["token"]);
  const sessions = new Sessions(Date.now, (id) => valid.has(id));
  const { bearer = "" } = sessions.exchange(sessions.addLink("agent", "token").token) ?? {};
  const own = request({ authorization: `Bearer ${bearer}` });
  const admitted = sessions.admit(own, "/ui/rpc");
  expect(admitted.ok && sessions.isValid(admitted.token.id)).toBe(true);
  valid.clear();
  expect(sessions.admit(own, "/ui/rpc")).toMatchObject({ ok: false, status: 401 });
  expect(admitted.ok && sessions.isValid(admitted.token.id)).toBe(false);
});

test.each([
  [421, { host: "evil.example" }],
  [421, { host: "" }],
  [403, { origin: "http://evil.example" }],
  [403, { origin: "null" }],
  [403, { origin: "http://127.0.0.1:80" }],
  [401, { authorization: "Bearer x" }],
  [401, {}],
])("the page's server refuses a call with %d for %j", (status, headers) => {
  expect(new Sessions().admit(request(headers), "/ui/rpc")).toMatchObject({ ok: false, status });
});

test("new links to the page replace the oldest links of their own role, but no links of another role", () => {
  const sessions = new Sessions();
  const { bearer = "" } = sessions.exchange(sessions.addLink("admin").token) ?? {};
  const [owners, first] = [sessions.addLink("admin"), sessions.addLink("reader")];
  for (let count = 0; count < 100; count++) sessions.exchange(sessions.addLink("reader").token);
  for (let count = 0; count < 100; count++) sessions.addLink("reader");
  expect(sessions.exchange(first.token)).toBeUndefined();
  expect(sessions.exchange(owners.token)?.role).toBe("admin");
  expect(sessions.admit(request({ authorization: `Bearer ${bearer}` }), "/ui/rpc")).toMatchObject({ ok: true });
});
