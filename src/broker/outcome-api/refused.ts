/** Refusals of the API: a status, and a reason in `detail`. Also turns the error of a failed call into a refusal. */
import { isRecord } from "../../base/parse-json.ts";
import { BAD_PARAMS_HINT, isErrorCode } from "../../base/errors.ts";
import type { RpcError } from "../../protocol/spec.ts";
import type { Wrong } from "./fields.ts";

export type RefusalStatus = 400 | 403 | 404 | 405 | 413 | 422 | 500 | 503;

export class Refused extends Error {
  readonly status: RefusalStatus;
  readonly detail: string | readonly Wrong[];
  /** Fields of the answer's body in addition to `detail`. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: RefusalStatus,
    detail: Refused["detail"],
    { fields = {}, headers = {} }: Partial<Pick<Refused, "fields" | "headers">> = {},
  ) {
    super(typeof detail === "string" ? detail : "the request does not fit");
    this.status = status;
    this.detail = detail;
    this.fields = fields;
    this.headers = headers;
  }
}

const OF_CODE: Readonly<Partial<Record<string, RefusalStatus>>> = {
  BROKER_DENIED: 403,
  PROTOCOL_BAD_PARAMS: 422,
  PROTOCOL_KEY_REUSED: 422,
  TRANSPORT_FRAME_TOO_LARGE: 413,
};

/** Turns a failed call into a refusal. The status is 503 if the request did not cause the error and a repetition may succeed. */
export function refusalOf({ message, data }: RpcError): Refused {
  const { code, hint, retryAfterMs, message: inner } = isRecord(data) ? data : {};
  if (!isErrorCode(code)) return new Refused(500, typeof inner === "string" ? inner : message);
  const told = typeof hint === "string" && hint !== "" && hint !== BAD_PARAMS_HINT ? `${message}: ${hint}` : message;
  const after = typeof retryAfterMs === "number" ? { "retry-after": String(Math.ceil(retryAfterMs / 1000)) } : {};
  return new Refused(OF_CODE[code] ?? 503, told, { headers: after });
}
