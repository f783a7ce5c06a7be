/** Makes and deletes tunnels, deletes hallways, and lists both, as upstream's JSON records (palace.md 2.10, 3.7, 3.8). */
import type { GraphReader, GraphTx, LinkRecord } from "../port/graph.ts";
import type { LedgerReader, LedgerTx, WriteCall } from "../port/ledger.ts";
import { slug } from "../drawer/drawer.ts";
import { head, sha256Hex } from "../text/text.ts";
import { InvalidValue, validFilter, validName } from "../text/validate.ts";

type Arguments = Record<string, unknown>;
type Place = { wing: string; room: string };

/** Fields with a link's strength and recency. A link that is made again keeps them. */
const DYNAMICS = ["strength", "stability", "last_activated", "access_count"];
const PREVIEW = 300;
const HALLWAYS_MAX = 500;
const HALLWAYS_DEFAULT = 100;

export type MinedTunnel = { kind: "topic" | "entity"; name: string; source: string; target: string };

/** Returns the slug that init and mining write into links instead of the wing's name. */
export function wingSlug(wing: string): string {
  let text = slug(wing);
  while (text.startsWith("_")) text = text.slice(1);
  while (text.endsWith("_")) text = text.slice(0, -1);
  return text;
}

/** Returns a tunnel's id. Exchanging its two ends does not change the id. */
export function tunnelId(source: Place, target: Place): string {
  const [a, b] = [source, target]
    .map(({ wing, room }) => Buffer.from(`${wing}/${room}`))
    .toSorted((one, other) => Buffer.compare(one, other));
  return sha256Hex(`${String(a)}↔${String(b)}`).slice(0, 16);
}

export function createTunnel({ graph }: LedgerTx, { params, atMs }: WriteCall): unknown {
  try {
    const nameIn = (key: string): string => validName(params[key], key);
    const source = { wing: nameIn("source_wing"), room: nameIn("source_room") };
    const target = { wing: nameIn("target_wing"), room: nameIn("target_room") };
    for (const [end, { wing, room }] of Object.entries({ Source: source, Target: target }))
      if (!graph.mayHoldRoom(wing, room))
        throw new InvalidValue(`${end} room '${room}' does not exist in wing '${wing}'`);
    const id = tunnelId(source, target);
    const now = utcTimestamp(atMs);
    const before = graph.findLink("tunnel", id);
    const made: LinkRecord = {
      id,
      source: withDrawer(source, params["source_drawer_id"]),
      target: withDrawer(target, params["target_drawer_id"]),
      label: params["label"] === undefined ? "" : params["label"],
      kind: "explicit",
    };
    const record = withDynamics(made, before, now);
    graph.putLink("tunnel", id, record);
    return record;
  } catch (error) {
    if (error instanceof InvalidValue) return { error: error.message };
    throw error;
  }
}

/** Writes a mined tunnel, if it is new or different. The room at both ends is named after the topic or name that the wings share. */
export function putTunnel(graph: GraphTx, { kind, name, source, target }: MinedTunnel, now: string): void {
  const room = `${kind}:${name}`;
  const ends = { source: { wing: source, room }, target: { wing: target, room } };
  const id = tunnelId(ends.source, ends.target);
  const before = graph.findLink("tunnel", id);
  const record: LinkRecord = { id, ...ends, label: `shared ${kind}: ${name}`, kind };
  const isSame = Object.entries(record).every(
    ([key, value]) => JSON.stringify(before?.[key]) === JSON.stringify(value),
  );
  if (isSame) return;
  graph.putLink("tunnel", id, withDynamics(record, before, now));
}

/** Returns the record with the strength and recency of the tunnel's earlier record. */
function withDynamics(record: LinkRecord, before: LinkRecord | undefined, now: string): LinkRecord {
  const createdAt = before?.["created_at"] ?? now;
  return {
    ...record,
    created_at: createdAt,
    ...(before !== undefined && { updated_at: now }),
    ...{ strength: 1, stability: 1, last_activated: createdAt, access_count: 0 },
    ...grownOf(before),
  };
}

/** Returns a link's present strength and recency, to keep them in its new record. */
export function grownOf(old: LinkRecord = {}): LinkRecord {
  return Object.fromEntries(DYNAMICS.flatMap((key) => (key in old ? [[key, old[key]]] : [])));
}

/** Deletes a tunnel. The answer does not show whether the tunnel existed. */
export function deleteTunnel({ graph }: LedgerTx, { params }: WriteCall): unknown {
  const id = params["tunnel_id"];
  if (typeof id !== "string" || id === "") return { error: "tunnel_id is required" };
  graph.deleteLink("tunnel", id);
  return { deleted: id };
}

export function deleteHallway({ graph }: LedgerTx, { params }: WriteCall): unknown {
  const id = params["hallway_id"];
  if (typeof id !== "string" || id === "") return { error: "hallway_id is required" };
  return { deleted: graph.deleteLink("hallway", id) };
}

export function listTunnels(graph: GraphReader, values: Arguments): unknown {
  const wing = validFilter(values["wing"], "wing");
  const tunnels = graph.links("tunnel");
  if (wing === undefined) return tunnels;
  return tunnels.filter((tunnel) => [endOf(tunnel, "source"), endOf(tunnel, "target")].some((end) => isIn(end, wing)));
}

/** Lists the rooms to which a room's tunnels lead, with the beginning of the drawer that each tunnel names. */
export function followTunnels(reader: LedgerReader, values: Arguments): unknown {
  const wing = validName(values["wing"], "wing");
  const room = validName(values["room"], "room");
  return reader.graph.links("tunnel").flatMap((tunnel) => {
    const [source, target] = [endOf(tunnel, "source"), endOf(tunnel, "target")];
    const isHere = (end: LinkRecord): boolean => isIn(end, wing) && end["room"] === room;
    if (!isHere(source) && !isHere(target)) return [];
    const [direction, there] = isHere(source) ? ["outgoing", target] : ["incoming", source];
    const drawerId = there["drawer_id"] ?? null;
    const drawer = typeof drawerId === "string" ? reader.findDrawer(drawerId) : undefined;
    return {
      direction,
      connected_wing: there["wing"] ?? null,
      connected_room: there["room"] ?? null,
      label: tunnel["label"] === undefined ? "" : tunnel["label"],
      drawer_id: drawerId,
      tunnel_id: tunnel["id"],
      ...(drawer !== undefined && { drawer_preview: head(drawer.text, PREVIEW) }),
    };
  });
}

/** Lists hallways, the strongest first. */
export function listHallways(graph: GraphReader, values: Arguments): unknown {
  const wing = validFilter(values["wing"], "wing");
  const limit = Math.max(1, Math.min(HALLWAYS_MAX, Number(values["limit"] ?? HALLWAYS_DEFAULT)));
  const offset = Math.min(Math.max(0, Number(values["offset"] ?? 0)), Number.MAX_SAFE_INTEGER);
  const { records, total } = graph.hallways(wing, limit, offset);
  return { hallways: records, total, count: records.length, offset, limit };
}

function withDrawer(end: Place, drawerId: unknown): LinkRecord {
  return drawerId === undefined || drawerId === null || drawerId === "" ? end : { ...end, drawer_id: drawerId };
}

/** Returns one end of a tunnel. Returns an empty record if somebody edited the file by hand and the end is not an object. */
function endOf(tunnel: LinkRecord, key: "source" | "target"): LinkRecord {
  const end = tunnel[key];
  return typeof end === "object" && end !== null ? (end as LinkRecord) : {};
}

function isIn(end: LinkRecord, wing: string): boolean {
  const stored = end["wing"];
  return typeof stored === "string" && wingSlug(stored) === (wingSlug(wing) || wing);
}

/** Formats a UTC moment as Python's isoformat() does: with six digits of fraction or without a fraction. */
export function utcTimestamp(atMs: number): string {
  const text = new Date(atMs).toISOString().slice(0, -1);
  return `${text.endsWith(".000") ? text.slice(0, -4) : `${text}000`}+00:00`;
}
