/** Reads MemPalace's files about other copies of the palace: `peers.json`, and the state that its servers publish. */
import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../base/alive.ts";
import { isRecord, readRecord } from "../../base/parse-json.ts";
import type { MeshPeer, PublishedMesh } from "../../memory/port/logstream.ts";

/** Returns the servers that have other copies of the palace, without their tokens. A malformed file counts as empty, as in upstream. */
export function readPeers(palaceDir: string): MeshPeer[] {
  const { peers } = readRecord(join(palaceDir, "peers.json"));
  if (!Array.isArray(peers) || !peers.every((peer) => isRecord(peer) && typeof peer["url"] === "string" && peer["url"]))
    return [];
  return (peers as { name?: unknown; url: string }[]).map(({ name, url }) => ({
    name: typeof name === "string" && name !== "" ? name : url,
    url,
  }));
}

/** Reads the state that a MemPalace server published for this palace in `serversDir` (`server_registry.py` of 3.11.0). */
export function readPublished(serversDir: string, palaceDir: string): PublishedMesh {
  const folder = hash("sha256", realpathSync(palaceDir)).slice(0, 24);
  const { peers, profiles, written_at: writtenAt, pid } = readRecord(join(serversDir, folder, "mesh_state.json"));
  return {
    peers: isRecord(peers) ? peers : {},
    profiles: isRecord(profiles) ? profiles : {},
    writtenAt: typeof writtenAt === "string" ? writtenAt : null,
    isWriterAlive: typeof pid === "number" && pid > 0 && isAlive(pid),
  };
}
