/** Finds or creates the collection with plain requests: the npm client warns on stderr that upstream's embedding function is missing. */
import type { ChromaConfig } from "../../config/config.ts";
import { badValue, type PalaceError } from "../../base/errors.ts";
import { DRAWERS } from "../format/chroma-file.ts";
import { chromaError } from "./chroma-error.ts";

/** Request body with which MemPalace 3.11 creates a collection (upstream-latest.md 2.2). MemPalace 3.3.6 can open it, too. */
const CREATION = {
  get_or_create: false,
  metadata: { "hnsw:space": "cosine", "hnsw:num_threads": 1, "hnsw:batch_size": 100, "hnsw:sync_threshold": 1000 },
  configuration: { embedding_function: { type: "known", name: "default", config: {} } },
};

export type ChromaPlace = Readonly<{
  origin: string;
  host: string;
  port: number;
  ssl: boolean;
  cloud: boolean;
  tenant: string;
  database: string;
  collection: string;
  headers: Record<string, string>;
}>;

/** Splits the server's address into the parts that the client needs. Errors: CONFIG_BAD_VALUE if the client cannot use the address. */
export function chromaPlace({ url, token, tenant, database }: ChromaConfig, collection = DRAWERS): ChromaPlace {
  const parsed = URL.parse(url);
  const bare = parsed !== null && parsed.pathname === "/" && parsed.search === "" && parsed.username === "";
  if (!bare || !["http:", "https:"].includes(parsed.protocol)) {
    throw badValue(
      "MEMPALACE_CHROMA_URL is not an address of the form http(s)://host:port",
      "export MEMPALACE_CHROMA_URL=http://127.0.0.1:8000",
    );
  }
  const ssl = parsed.protocol === "https:";
  const port = parsed.port === "" ? (ssl ? 443 : 80) : Number(parsed.port);
  return {
    origin: `${parsed.protocol}//${parsed.hostname}:${port}`,
    host: parsed.hostname,
    port,
    ssl,
    cloud: parsed.hostname === "trychroma.com" || parsed.hostname.endsWith(".trychroma.com"),
    tenant,
    database,
    collection,
    headers: token === undefined ? {} : { "x-chroma-token": token },
  };
}

export function placeName({ origin, tenant, database, collection }: ChromaPlace): string {
  return `${origin}/${tenant}/${database}/${collection}`;
}

/** Returns the id of our collection. Creates an absent collection, but never changes an existing one (palace.md 4.1). */
export async function openCollection(place: ChromaPlace, signal: AbortSignal): Promise<string> {
  const collections = `/tenants/${encodeURIComponent(place.tenant)}/databases/${encodeURIComponent(place.database)}/collections`;
  const found = await request(place, "GET", `${collections}/${place.collection}`, signal);
  if (found.status !== 404) return readId(place, found);
  const made = await request(place, "POST", collections, signal, { name: place.collection, ...CREATION });
  // Status 409: another process has just created the collection.
  if (made.status === 409)
    return readId(place, await request(place, "GET", `${collections}/${place.collection}`, signal));
  if (made.status === 400 || made.status === 404) throw noDatabase(place, made.body);
  return readId(place, made);
}

/** Limits of the server. `batchMax`: maximum number of records in one write. `base64`: vectors may be sent as base64. */
export type ServerLimits = { batchMax: number; base64: boolean };

export async function readServerLimits(place: ChromaPlace, signal: AbortSignal): Promise<ServerLimits> {
  const { body } = await request(place, "GET", "/pre-flight-checks", signal);
  const checks = (body ?? {}) as { max_batch_size?: unknown; supports_base64_encoding?: unknown };
  const batch = checks.max_batch_size;
  return {
    batchMax: typeof batch === "number" && batch > 0 ? batch : 1,
    base64: checks.supports_base64_encoding === true,
  };
}

type Reply = { status: number; body: unknown };

async function request(
  place: ChromaPlace,
  method: "GET" | "POST",
  path: string,
  signal: AbortSignal,
  body?: unknown,
): Promise<Reply> {
  const response = await fetch(`${place.origin}/api/v2${path}`, {
    method,
    signal,
    headers: { ...place.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    return { status: response.status, body: null };
  }
}

function readId(place: ChromaPlace, { status, body }: Reply): string {
  const id: unknown = (body as { id?: unknown } | null)?.id;
  if (status < 300 && typeof id === "string") return id;
  const error = new Error(`${status}: ${messageOf(body)}`);
  error.name = status === 401 || status === 403 ? "ChromaUnauthorizedError" : "ChromaServerError";
  throw chromaError(error, placeName(place));
}

function noDatabase(place: ChromaPlace, body: unknown): PalaceError {
  return badValue(
    `Chroma at ${place.origin} has no database ${place.tenant}/${place.database}: ${messageOf(body)}`,
    "export MEMPALACE_CHROMA_TENANT=<tenant> MEMPALACE_CHROMA_DATABASE=<database>",
  );
}

function messageOf(body: unknown): string {
  const message: unknown = (body as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message.slice(0, 200) : "it gave no reason";
}
