/**
 * The columns of a row of the tools' table. The table itself is in table.ts; client and broker follow its columns. Data
 * only.
 */
import { EVENT_WAIT_GIVEN_UP_MS, REQUEST_TIMEOUT_MS } from "../limits.ts";

export type PropertySchema = {
  type: "string" | "integer" | "number" | "boolean" | "array" | "object";
  description?: string;
  enum?: readonly string[];
  items?: PropertySchema;
  properties?: Properties;
  required?: readonly string[];
  /** Schema of each value of an object whose keys are free. */
  additionalProperties?: PropertySchema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
};
export type Properties = Record<string, PropertySchema>;

export type Columns = {
  /** A write is done once by its key, through the journal. A read sees what the same peer wrote before it. */
  kind: "read" | "write";
  /** The part that executes it: the rules on the ledger, those on the coordination log, or a part of the broker. */
  keeper: "palace" | "log" | "broker";
  /** The least role that may call it; `agent to change`: a reader may call it without arguments. */
  role: "reader" | "agent" | "agent to change";
  /**
   * Rule for spooling: whether a client spools the call while no broker answers. A call that only reads, or depends on the present state,
   * is not spooled.
   */
  spool: "always" | "unless dry" | "never";
  /** True for a write that needs findings of the main thread, which also include its sender's earlier writes. */
  isPrepared: boolean;
  /** Surface that the tool belongs to: MemPalace's, or that of memory which learns from outcomes. Each has its own names and list. */
  surface: "palace" | "outcome";
  /** Secrets are masked in its answer. */
  isMasked: boolean;
  /** True when the tool is announced as read-only, as MemPalace's is. */
  isAnnounced: boolean;
  /** Time after which its request is given up. */
  timeoutMs: number;
  /** Its place in the light profile's list, and the parameters that are shown there. */
  light?: { place: number; shown: readonly string[] };
  /**
   * Other names of parameters. Those of rooms and wings are what upstream's skill texts call them, so agents do, too
   * (palace.md 2.12); no schema lists them.
   */
  aliases?: Readonly<Record<string, string>>;
  /** Parameters that are required under one name or the other; the schema lists both and so can require neither. */
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
/** The columns of most rows; a row states its exceptions. */
export const READ = { ...USUAL, kind: "read", keeper: "palace", role: "reader", spool: "never" } as const;
export const ANNOUNCED = { ...READ, isAnnounced: true } as const;
export const WRITE = { ...USUAL, kind: "write", keeper: "palace", role: "agent", spool: "always" } as const;
export const LOG_READ = { ...READ, keeper: "log" } as const;
export const LOG_WRITE = { ...WRITE, keeper: "log" } as const;
/** Executed by a part of the broker: its answer is about the machine, not the memory. */
export const BROKER = { ...READ, keeper: "broker", isMasked: false } as const;
export const BROKER_WAIT = { ...READ, keeper: "broker", timeoutMs: EVENT_WAIT_GIVEN_UP_MS } as const;

/** A row. A parameter whose name ends in * is required. */
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
/** Parameters of what is shown page by page. */
export const page = (things: string, usual: number, maximum: number): Properties => ({
  limit: integer(`${things} on the page (default ${usual})`, { minimum: 1, maximum }),
  offset: integer(`${things} to pass over (default 0)`, { minimum: 0 }),
});
export const WING = text("Wing: a person or project");
export const ROOM = text("Room: a topic inside the wing");
