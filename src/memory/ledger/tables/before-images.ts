/** Collects the before-images of one write. A row that is changed twice keeps its first old state and its last new state. */
import type { Drawer, Metadata } from "../../port/drawer.ts";
import type { GraphKind } from "../../port/graph.ts";
import { digest, drawerDigest } from "../record.ts";

export type ImageKind = "drawer" | "source" | "standing" | "carried" | "imported" | GraphKind;
/** Row of the table `change`. `before`: the old row, null for a new one. `after`: digest of the new row, null for a deleted one. */
export type Image = { kind: ImageKind; id: string; before: string | null; after: string | null };

type DrawerState = { text: string; metadata: Metadata };
type Noted =
  | { kind: "drawer"; id: string; before: DrawerState | undefined; after: DrawerState | undefined }
  | { kind: Exclude<ImageKind, "drawer">; id: string; before: string | undefined };

/** Returns a row's present state in the form of a before-image; undefined for an absent row. */
export type StateOf = (kind: Exclude<ImageKind, "drawer">, id: string) => string | undefined;

export class Images {
  readonly #noted = new Map<string, Noted>();
  readonly stateOf: StateOf;

  constructor(stateOf: StateOf) {
    this.stateOf = stateOf;
  }

  /** `before`, `after`: undefined for an absent drawer. */
  noteDrawer(id: string, before: Drawer | undefined, after: DrawerState | undefined): void {
    const known = this.#noted.get(`drawer ${id}`);
    if (known?.kind === "drawer") known.after = after;
    else this.#noted.set(`drawer ${id}`, { kind: "drawer", id, before, after });
  }

  /** Keeps the row's old state. Call it before the row is changed. */
  note(kind: Exclude<ImageKind, "drawer">, id: string): void {
    const name = `${kind} ${id}`;
    if (!this.#noted.has(name)) this.#noted.set(name, { kind, id, before: this.stateOf(kind, id) });
  }

  /** Returns the images of the applied write. Leaves out rows that have their old state again. Call it before the next write. */
  take(): Image[] {
    const images = [...this.#noted.values()].flatMap((noted): Image[] => {
      const { kind, id } = noted;
      if (noted.kind === "drawer") {
        const { before, after } = noted;
        const image = before === undefined ? null : imageOf(before);
        const isSame = image === null ? after === undefined : after !== undefined && image === imageOf(after);
        if (isSame) return [];
        return [{ kind, id, before: image, after: after === undefined ? null : drawerDigest(after) }];
      }
      const after = this.stateOf(noted.kind, id);
      if (noted.before === after) return [];
      return [{ kind, id, before: noted.before ?? null, after: after === undefined ? null : digest(after) }];
    });
    this.clear();
    return images;
  }

  clear(): void {
    this.#noted.clear();
  }
}

function imageOf({ text, metadata }: DrawerState): string {
  return JSON.stringify({ text, metadata });
}
