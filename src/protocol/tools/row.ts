/** Columns of the tool table in table.ts. Client and broker use these columns. */
import { EVENT_WAIT_GIVEN_UP_MS, REQUEST_TIMEOUT_MS } from "../limits.ts";

export type PropertySchema = {
  type: "string" | "integer" | "number" | "boolean" | "array" | "object";
  description?: string;
  enum?: readonly string[];
  items?: PropertySchema;
  properties?: Properties;
  required?: readonly string[];
  /** Schema of the values of an object with free keys. */
  additionalProperties?: PropertySchema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
};
export type Properties = Record<string, PropertySchema>;

export type Columns = {
  /** A write takes effect once for each idempotency key, which the journal records. A read sees the earlier writes of the same peer. */
  kind: "read" | "write";
  /** Part that executes the tool: on the ledger, on the coordination log, or in the broker. */
  keeper: "palace" | "log" | "broker";
  /** Lowest role that may call the tool. `agent to change`: a reader may call it only without arguments. */
  role: "reader" | "agent" | "agent to change";
  /** When a client spools the call while no broker answers. "never" for a call that only reads or depends on the current state. */
  spool: "always" | "unless dry" | "never";
  /** True for a write that needs `findings`: values that the main thread computes first, after the sender's earlier writes. */
  isPrepared: boolean;
  /** API of the tool: MemPalace's, or Roampal's for memory that learns from outcomes. Each API has its own names and list of tools. */
  surface: "palace" | "outcome";
  /** True if secrets are masked in the answer. */
  isMasked: boolean;
  /** True if the tool is announced as read-only, as in MemPalace. */
  isAnnounced: boolean;
  /** Time limit of a call, ms. */
  timeoutMs: number;
  /** Position in the light profile's list, and the parameters that it shows. */
  light?: { place: number; shown: readonly string[] };
  /**
   * Other names of parameters, which no schema lists. Upstream's skill texts use these names for rooms and wings, so agents use them, too
   * (palace.md 2.12).
   */
  aliases?: Readonly<Record<string, string>>;
  /** Parameters that may be given under an alias. The schema lists both names, so it cannot require one of them. */
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
/** Columns of a tool that only reads. Such a row may override some of them. */
export const READ = { ...USUAL, kind: "read", keeper: "palace", role: "reader", spool: "never" } as const;
export const ANNOUNCED = { ...READ, isAnnounced: true } as const;
export const WRITE = { ...USUAL, kind: "write", keeper: "palace", role: "agent", spool: "always" } as const;
export const LOG_READ = { ...READ, keeper: "log" } as const;
export const LOG_WRITE = { ...WRITE, keeper: "log" } as const;
/** Usual columns of a tool that a part of the broker executes. Its answer is about the machine, not the memory. */
export const BROKER = { ...READ, keeper: "broker", isMasked: false } as const;
export const BROKER_WAIT = { ...READ, keeper: "broker", timeoutMs: EVENT_WAIT_GIVEN_UP_MS } as const;

/** Makes a row. A parameter whose name ends in `*` is required. */
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
/** Returns the parameters of a list with pages. */
export const page = (things: string, usual: number, maximum: number): Properties => ({
  limit: integer(`${things} on the page (default ${usual})`, { minimum: 1, maximum }),
  offset: integer(`${things} to skip (default 0)`, { minimum: 0 }),
});
export const WING = text("Wing: a person or project");
export const ROOM = text("Room: a topic inside the wing");
