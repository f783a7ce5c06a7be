/** Answers `/api/` with the rows of routes.ts. The first such request loads this file. */
import type { IncomingMessage } from "node:http";
import type { Profile } from "../../learning/memory/profiles.ts";
import { PalaceError } from "../../base/errors.ts";
import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from "../../protocol/headers.ts";
import { type Health, type StatusReport } from "../../protocol/spec.ts";
import { readBody } from "../door/body.ts";
import type { Route } from "../door/door.ts";
import type { Held } from "../door/held.ts";
import { sendJson } from "../door/json-answer.ts";
import type { Dispatch } from "../engine.ts";
import type { Peer } from "../peer.ts";
import { checkFields, type Values } from "./fields.ts";
import { profileOf } from "./profile.ts";
import { Refused, refusalOf } from "./refused.ts";
import { API_ROUTES, type ApiRoute, type Asker } from "./routes.ts";

export type OutcomeApiOptions = {
  dispatch: Dispatch;
  held: Held;
  health: (peer: Peer) => Health;
  status: () => StatusReport;
  /** Folder of Roampal's settings, which may not exist. */
  roampalSettings: string;
};

export function createOutcomeApi(options: OutcomeApiOptions): Route {
  return async (request, response, peer) => {
    try {
      const route = routeOf(request);
      const profile = route === API_ROUTES[HEALTH] ? undefined : profileOf(request.headers, options.roampalSettings);
      const given =
        route.method === "GET" ? Object.fromEntries(urlOf(request).searchParams) : await bodyOf(request, peer, options);
      if (given === GONE) return;
      const values = checked(route, given);
      sendJson(response, 200, await route.answer(askerFor(options, request, peer, profile), values as never));
    } catch (error) {
      const { status, detail, fields, headers } = error instanceof Refused ? error : unforeseen(error);
      // Closes the connection after 413, because the rest of an oversized body stays unread.
      const more = status === 413 ? { connection: "close" } : {};
      sendJson(response, status, { ...fields, detail }, { ...headers, ...more });
    }
  };
}

/** Path that describes the server. A request of this path may name an unknown profile. */
const HEALTH = "/api/health";

function routeOf(request: IncomingMessage): ApiRoute {
  const { pathname } = urlOf(request);
  const route = Object.hasOwn(API_ROUTES, pathname) ? API_ROUTES[pathname] : undefined;
  if (route === undefined) throw new Refused(404, "Not Found");
  if (request.method === route.method) return route;
  throw new Refused(405, "Method Not Allowed", { headers: { allow: route.method } });
}

/** Result of `bodyOf` if the peer disconnected before its body was complete. */
const GONE = Symbol("gone");

/** Reads a request's body, whatever its content type. An empty body has no fields. Errors: Refused. */
async function bodyOf(
  request: IncomingMessage,
  peer: Peer,
  { held: { unfinished } }: OutcomeApiOptions,
): Promise<unknown> {
  const body = await readBody(request, "send one JSON object", { peer, unfinished });
  if (body === undefined) return GONE;
  if (!("error" in body)) return body.message ?? (body.message === undefined ? {} : null);
  if (body.status === 413) throw new Refused(413, body.error.message);
  throw new Refused(422, [{ loc: ["body"], msg: body.error.message.replace("line", "body"), type: "value_error" }]);
}

function checked({ fields, needs }: ApiRoute, given: unknown): Values {
  const result = checkFields(fields, given);
  if ("wrong" in result) throw new Refused(422, result.wrong);
  const needed = needs === undefined ? "" : result.values[needs];
  const isMissing = needs !== undefined && (typeof needed !== "string" || needed.trim() === "");
  if (isMissing) throw new Refused(400, needs === "title" ? "Title required" : "Content required");
  return result.values;
}

/** Makes the functions that a route may call. A route writes at most once, so its write gets the request's idempotency key. */
function askerFor(
  { dispatch, health, status }: OutcomeApiOptions,
  request: IncomingMessage,
  peer: Peer,
  profile: Profile,
): Asker {
  const named = profile === undefined ? {} : { profile };
  const key = request.headers[IDEMPOTENCY_HEADER];
  const meta = typeof key === "string" ? { _meta: { [IDEMPOTENCY_META]: key } } : {};
  return {
    call: async (method, params) => {
      const message = { jsonrpc: "2.0", id: 0, method, params: { ...params, ...named, ...meta } };
      const answer = await dispatch(peer, message, JSON.stringify(params).length);
      if (answer === undefined || "error" in answer)
        throw refusalOf(answer?.error ?? { code: 0, message: "no answer" });
      return answer.result as never;
    },
    health: () => health(peer),
    status,
  };
}

function unforeseen(error: unknown): Refused {
  if (error instanceof PalaceError) return refusalOf({ code: 0, message: error.message, data: error.toWire() });
  return new Refused(500, error instanceof Error ? error.message : String(error));
}

function urlOf({ url = "/" }: IncomingMessage): { pathname: string; searchParams: URLSearchParams } {
  const [pathname = "/", query = ""] = url.split("?", 2);
  return { pathname, searchParams: new URLSearchParams(query) };
}
