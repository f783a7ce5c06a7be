/** A map of places: a larger tile has more drawers. Each tile is a link to its place. */
import { count, plain } from "./words.ts";
import type { Tile } from "./drawers.ts";

type Box = { x: number; y: number; width: number; height: number };

/** Maximum number of places with their own tile; all others share the last tile. */
const TILES_MAX = 24;
/** Width of the map, divided by its height. */
const ASPECT = 2;
const SLOWER = 0.45;

type Props = { tiles: readonly Tile[]; to: (tile: Tile) => string; label: string };

export function PlaceMap({ tiles, to, label }: Props) {
  const shown = tiles.slice(0, TILES_MAX);
  const boxes = squarified(shown.map(({ drawers }) => drawers));
  return (
    <nav class="map" aria-label={label}>
      {shown.map((tile, at) => {
        const { x, y, width, height } = boxes[at] ?? { x: 0, y: 0, width: 0, height: 0 };
        const style = { left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${height}%` };
        const name = plain(tile.name);
        return (
          <a key={tile.name} href={to(tile)} style={style} class={`shade-${at % 4}`} title={name}>
            <span>
              <strong>{name}</strong>{" "}
              <small>
                {count(tile.drawers)} <span class="sr">{tile.drawers === 1 ? "drawer" : "drawers"}</span>
              </small>
            </span>
          </a>
        );
      })}
    </nav>
  );
}

/** Lays out rectangles in percent of the map, each as nearly square as possible (a squarified treemap), strip by strip. */
export function squarified(sizes: readonly number[]): Box[] {
  const free = { x: 0, y: 0, width: 100 * ASPECT, height: 100 };
  // Areas grow more slowly than numbers of drawers, because a mined project may have a thousand drawers for each note of a person.
  const floors = sizes.map((size) => Math.max(size, 1) ** SLOWER);
  const all = floors.reduce((sum, size) => sum + size, 0);
  const areas = floors.map((size) => (size / all) * free.width * free.height);
  const boxes: Box[] = [];
  for (let from = 0; from < areas.length;) {
    const side = Math.min(free.width, free.height);
    let to = from + 1;
    while (to < areas.length && worst(areas.slice(from, to + 1), side) <= worst(areas.slice(from, to), side)) to++;
    const strip = areas.slice(from, to);
    const depth = strip.reduce((sum, area) => sum + area, 0) / side;
    const isColumn = free.width >= free.height;
    let at = 0;
    for (const area of strip) {
      const along = area / depth;
      const [x, y] = isColumn ? [free.x, free.y + at] : [free.x + at, free.y];
      const [width, height] = isColumn ? [depth, along] : [along, depth];
      boxes.push({ x: x / ASPECT, y, width: width / ASPECT, height });
      at += along;
    }
    if (isColumn) [free.x, free.width] = [free.x + depth, free.width - depth];
    else [free.y, free.height] = [free.y + depth, free.height - depth];
    from = to;
  }
  return boxes;
}

function worst(areas: readonly number[], side: number): number {
  const depth = areas.reduce((sum, area) => sum + area, 0) / side;
  return Math.max(...areas.map((area) => Math.max((depth * depth) / area, area / (depth * depth))));
}
