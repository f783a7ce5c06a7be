/** Types of drawers in the broker's answers, and the calls that load them. */
import { call } from "./client.ts";

export type Drawer = {
  drawer_id: string;
  wing: string;
  room: string;
  content: string;
  content_preview?: string;
  source_path: string;
  metadata: Record<string, string | number | boolean | string[] | undefined>;
};

export type Place = { wing?: string | undefined; room?: string | undefined };

export async function listDrawers(
  { wing, room }: Place,
  offset: number,
  limit: number,
): Promise<{ rows: Drawer[]; total: number }> {
  const place = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
  const { drawers, total } = await call("drawer.list", { ...place, offset, limit });
  return { rows: drawers as unknown as Drawer[], total };
}

export async function showDrawer(id: string): Promise<Drawer | undefined> {
  const answer = await call("drawer.show", { id });
  return answer.found ? (answer.drawer as unknown as Drawer) : undefined;
}

export function authorOf({ metadata: { added_by: by, agent } }: Drawer): string {
  return String(by ?? agent ?? "");
}

export type Tile = { name: string; drawers: number };

/** Returns the wings with their rooms, the room with most drawers first. */
export async function listPlaces(): Promise<Map<string, Tile[]>> {
  const { places } = await call("drawer.places", {});
  const wings = new Map<string, Tile[]>();
  for (const { wing, room, drawers } of places) wings.set(wing, [...(wings.get(wing) ?? []), { name: room, drawers }]);
  for (const rooms of wings.values()) rooms.sort((a, b) => b.drawers - a.drawers);
  return wings;
}

export function sum(tiles: readonly Tile[]): number {
  return tiles.reduce((total, { drawers }) => total + drawers, 0);
}
