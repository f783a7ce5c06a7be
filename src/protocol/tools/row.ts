/** Columns of the tool table in table.ts, and functions that make its rows. */
import { EVENT_WAIT_GIVEN_UP_MS, REQUEST_TIMEOUT_MS } from "../limits.ts";

export type PropertySchema = {
  type: "string" | "integer" | "number" | "boolean" | "array" | "object";
  description?: string;
  enum?: readonly string[];
  items?: PropertySchema;
  properties?: Properties;
  required?: readonly string[];
  /** Schema of the values of an object whose keys may have any name. */
  additionalProperties?: PropertySchema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
};
export type Properties = Record<string, PropertySchema>;

export type Columns = {
  /** A write takes effect once for each idempotency key. A read waits for the same peer's earlier writes. */
  kind: "read" | "write";
  /** Part of the system that executes the tool: the ledger, the coordination log, or the broker itself. */
  keeper: "palace" | "log" | "broker";
  /** Lowest role that may call the tool. `agent to change`: a reader may call it only without arguments. */
  role: "reader" | "agent" | "agent to change";
  /** Calls that a client spools if no broker answers. `never`: the tool only reads or depends on the current state. */
  spool: "always" | "unless dry" | "never";
  /** True for a write that needs `findings`: data that the main thread computes before the write, but after the sender's earlier writes. */
  isPrepared: boolean;
  /** API of the tool: MemPalace's, or Roampal's (`outcome`). */
  surface: "palace" | "outcome";
  /** True if the broker masks secrets in the answer. */
  isMasked: boolean;
  /** True if clients of all MCP revisions get the hint `readOnlyHint`, as from MemPalace. */
  isAnnounced: boolean;
  /** Time limit of a call, ms. */
  timeoutMs: number;
  /** Position in the list of profile `light`, and the parameters that this list shows. */
  light?: { place: number; shown: readonly string[] };
  /** Proper name of each alias. Agents use the aliases because upstream's skill texts do (palace.md 2.12). */
  aliases?: Readonly<Record<string, string>>;
  /** Required parameters whose alias is also in the schema, so the schema cannot require either name. */
  requiredEither?: readonly string[];
};

export type ToolRow = Columns & { description: string; properties: Properties; required: readonly string[] };

const USUAL = {
  surface: "palace",
  isPrepared: false,
  isMasked: true,
  isAnnounced: false,
  timeoutMs: REQUEST_TIMEOUT_MS,
} as const;
export const READ = { ...USUAL, kind: "read", keeper: "palace", role: "reader", spool: "never" } as const;
export const ANNOUNCED = { ...READ, isAnnounced: true } as const;
export const WRITE = { ...USUAL, kind: "write", keeper: "palace", role: "agent", spool: "always" } as const;
export const LOG_READ = { ...READ, keeper: "log" } as const;
export const LOG_WRITE = { ...WRITE, keeper: "log" } as const;
/** Masks no secrets, because the answer is about the machine and not from the memory. */
export const BROKER = { ...READ, keeper: "broker", isMasked: false } as const;
export const BROKER_WAIT = { ...READ, keeper: "broker", timeoutMs: EVENT_WAIT_GIVEN_UP_MS } as const;

/** Makes a row. A `*` at the end of a parameter's name means required. */
export function tool<const C extends Columns>(columns: C, description: string, parameters: Properties): C & ToolRow {
  const entries = Object.entries(parameters).map(([key, schema]) => [key.replace("*", ""), schema] as const);
  const required = Object.keys(parameters).flatMap((key) => (key.endsWith("*") ? [key.slice(0, -1)] : []));
  return { ...columns, description, properties: Object.fromEntries(entries), required };
}

export const text = (description: string): PropertySchema => ({ type: "string", description });
export const texts = (description: string): PropertySchema => ({
  type: "array",
  items: { type: "string" },
  description,
});
export const oneOf = (values: readonly string[], description: string): PropertySchema => ({
  ...{ type: "string", enum: values, description },
});
type Bounds = { minimum?: number; maximum?: number };
export const number = (description: string, bounds: Bounds = {}): PropertySchema => ({
  ...{ type: "number", ...bounds, description },
});
export const integer = (description: string, bounds: Bounds = {}): PropertySchema => ({
  ...{ type: "integer", ...bounds, description },
});
export const page = (things: string, usual: number, maximum: number): Properties => ({
  limit: integer(`${things} on the page (default ${usual})`, { minimum: 1, maximum }),
  offset: integer(`${things} to skip (default 0)`, { minimum: 0 }),
});
export const WING = text("Wing: a person or project");
export const ROOM = text("Room: a topic inside the wing");
