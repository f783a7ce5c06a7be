/** Lists this copy of the palace and the other known copies, for `mesh_peers`. Pure. */
import { isRecord } from "../../base/parse-json.ts";
import type { ReplicaState } from "../../memory/port/logstream.ts";

export type Machine = { name: string; hardware: string; drawers: number | null; embedder: string | null };

export function meshPeers(
  { replicaId, versionVector, peers, published }: ReplicaState,
  machine: Machine,
  atMs: number,
): unknown {
  const { name, hardware, drawers, embedder } = machine;
  const profile = {
    roles: [
      ...(drawers === null ? [] : ["replica"]),
      ...(versionVector[replicaId] === undefined ? [] : ["agents"]),
      ...(embedder === null ? [] : ["compute"]),
    ],
    accelerator: embedder === null ? null : { provider: "CPU", embedder },
    drawers,
    hardware,
    advertised_at: `${new Date(atMs).toISOString().slice(0, 19)}Z`,
  };
  const shown = peers.map((peer) => {
    const state = published.peers[peer.name];
    // The address in `peers.json` overrides the address that the peer published.
    return { ...(isRecord(state) ? state : {}), ...peer };
  });
  const named = new Set<unknown>([replicaId, ...shown.map((peer) => (peer as { replica_id?: unknown }).replica_id)]);
  return {
    self: { replica_id: replicaId, name, version_vector: versionVector, profile },
    peers: shown,
    unnamed_origins: Object.keys(versionVector)
      .filter((origin) => !named.has(origin))
      .toSorted(),
    origin_profiles: { ...published.profiles, [replicaId]: profile },
    sync_interval_s: 0,
    estate_source: {
      in_process: false,
      published_at: published.writtenAt,
      writer_alive: published.isWriterAlive,
    },
  };
}
