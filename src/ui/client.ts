/** Connects the page to the broker: the sign-in, calls of methods and tools, and news of changes. */
import type { MethodName, Methods, Role, StatusReport } from "../protocol/spec.ts";

/** Part of the status. The broker sends it after each change. */
export type News = Pick<StatusReport, "state" | "drawers" | "wings" | "peers" | "queue" | "search" | "driver"> & {
  ledgerSizeBytes: number;
};

export type Session = { bearer: string; role: Role };

/** Failed call. `code`: the broker's error code; empty if it sent none. */
export class CallError extends Error {
  readonly code: string;
  readonly hint: string;
  constructor(message: string, code = "", hint = "") {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

const SIGN_IN = "/ui/session";
const KEPT = "palace-session";
/** Name of the lock of the one tab that reads news, and of the channel on which this tab passes the news to the other tabs. */
const NEWS = "palace-news";
const SIGNED_OUT = "signed out";
/** Writing methods that the page calls directly, not as a tool. Each call gets an idempotency key, so that it takes effect only once. */
const WRITES: readonly MethodName[] = ["memory.undo", "memory.forget", "outcome.score"];
const ASK = "ask";
const AGAIN_MS = 2_000;
const ENDED = "The broker does not answer. Type: palace ui";

let session: Session | undefined;
let lastId = 0;

/** Matches the sign-in token in a link, which is the part of the address after #. */
const LINK = /^#([A-Za-z0-9_-]{43})$/;

export function hasLink(): boolean {
  return LINK.test(location.hash);
}

/**
 * Signs in with the link's token, or else with this tab's stored session. The session is not a cookie, because a browser would send a
 * cookie to every port of 127.0.0.1. Returns undefined without a valid link or session.
 */
export async function signIn(): Promise<Session | undefined> {
  const token = LINK.exec(location.hash)?.[1];
  if (token === undefined) return (session = storedSession());
  history.replaceState(null, "", "/ui/#/");
  const response = await post(SIGN_IN, { token });
  if (!response.ok) return (session = storedSession());
  session = sessionIn(await response.json());
  sessionStorage.setItem(KEPT, JSON.stringify(session));
  return session;
}

function storedSession(): Session | undefined {
  const kept = sessionStorage.getItem(KEPT);
  return kept === null ? undefined : sessionIn(JSON.parse(kept));
}

function sessionIn(value: unknown): Session | undefined {
  const { bearer, role } = isRecord(value) ? value : {};
  const isRole = role === "admin" || role === "agent" || role === "reader";
  return typeof bearer === "string" && isRole ? { bearer, role } : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Checks only some fields, because the broker sends all fields of a status or none. */
function isNews(value: unknown): value is News {
  return isRecord(value) && isRecord(value["queue"]) && isRecord(value["search"]) && isRecord(value["driver"]);
}

export function onSignedOut(listener: () => void): void {
  addEventListener(SIGNED_OUT, listener);
}

export function call<M extends MethodName>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
  return ask(method, WRITES.includes(method) ? { ...params, _meta: newKey() } : params);
}

/** Calls a tool as an agent does. A list becomes the field `list`. Errors: CallError, also if the tool fails. */
export async function callTool(name: string, given: Record<string, unknown>): Promise<Record<string, unknown>> {
  const params = { name: `mempalace_${name}`, arguments: given, _meta: newKey() };
  const { content } = await ask<{ content: { text: string }[] }>("tools/call", params);
  const result: unknown = JSON.parse(content[0]?.text ?? "{}");
  if (Array.isArray(result)) return { list: result };
  if (!isRecord(result)) throw new CallError("The broker's answer cannot be read.");
  const { success, error } = result;
  if (success === false || error !== undefined) throw new CallError(String(error ?? "It was refused."));
  return result;
}

async function ask<T>(method: string, params: unknown): Promise<T> {
  const response = await post("/ui/rpc", { jsonrpc: "2.0", id: ++lastId, method, params });
  const answer = (await response.json().catch(() => ({}))) as Answer<T>;
  if (answer.result !== undefined) return answer.result;
  const { message = `The broker answered ${response.status}.`, data } = answer.error ?? {};
  throw new CallError(message, data?.code, data?.hint);
}

type Answer<T> = { result?: T; error?: { message: string; data?: { code: string; hint: string } } };

async function post(path: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", ...credentials() };
  try {
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    // A refused sign-in with a link does not end the session that this tab has.
    if (response.status === 401 && path !== SIGN_IN) signOut();
    return response;
  } catch {
    throw new CallError(ENDED);
  }
}

function credentials(): Record<string, string> {
  return { "palace-agent": "page", ...(session !== undefined && { authorization: `Bearer ${session.bearer}` }) };
}

function newKey(): { "palace/idempotencyKey": string } {
  return { "palace/idempotencyKey": crypto.randomUUID() };
}

function signOut(): void {
  session = undefined;
  sessionStorage.removeItem(KEPT);
  dispatchEvent(new Event(SIGNED_OUT));
}

/**
 * Listens for changes of the status. Only one tab reads them and passes them on, because a browser opens only six connections to a server.
 * When that tab closes, another tab reads them.
 */
export async function listen(onNews: (news: News | undefined) => void): Promise<void> {
  const tabs = new BroadcastChannel(NEWS);
  let last: News | undefined;
  tabs.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data !== ASK) onNews(isNews(data) ? data : undefined);
    else if (last !== undefined) tabs.postMessage(last);
  };
  tabs.postMessage(ASK);
  await navigator.locks.request(NEWS, () =>
    readNews((news) => {
      last = news;
      onNews(news);
      tabs.postMessage(news);
    }),
  );
}

/** Reads changes of the status during the session, and connects again after a loss. EventSource could not send the session's header. */
async function readNews(onNews: (news: News | undefined) => void): Promise<void> {
  while (session !== undefined) {
    try {
      const response = await fetch("/ui/events", { headers: credentials() });
      if (response.status === 401) signOut();
      else if (response.body !== null) await readEvents(response.body, onNews);
    } catch {
      // The broker has ended or restarts.
    }
    onNews(undefined);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function readEvents(body: ReadableStream<Uint8Array>, onNews: (news: News) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (let text = ""; ;) {
    const { done, value = "" } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      const news: unknown = data === undefined ? undefined : JSON.parse(data);
      if (isNews(news)) onNews(news);
    }
  }
}
