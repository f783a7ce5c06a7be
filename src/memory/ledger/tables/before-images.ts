/**
 * Collects before-images: the old state of each row that a write changes. They are stored with the write's journal row in the same
 * transaction. A row that is changed twice keeps its first old state and its last new state. Runs on the writer thread.
 */
import type { Drawer, Metadata } from "../../port/drawer.ts";
import type { GraphKind } from "../../port/graph.ts";
import { digest, drawerDigest } from "../record.ts";

export type ImageKind = "drawer" | "source" | "standing" | "carried" | "imported" | GraphKind;
/** Change of one row by a write, as the table `change` stores it. */
export type Image = { kind: ImageKind; id: string; before: string | null; after: string | null };

type DrawerState = { text: string; metadata: Metadata };
type Noted =
  | { kind: "drawer"; id: string; before: DrawerState | undefined; after: DrawerState | undefined }
  | { kind: Exclude<ImageKind, "drawer">; id: string; before: string | undefined };

/** Returns the present state of a row as text; undefined for an absent row. */
export type StateOf = (kind: Exclude<ImageKind, "drawer">, id: string) => string | undefined;

export class Images {
  readonly #noted = new Map<string, Noted>();
  readonly stateOf: StateOf;

  constructor(stateOf: StateOf) {
    this.stateOf = stateOf;
  }

  /** Collects a drawer's state before and after a change. `after`: undefined if the drawer was deleted. */
  noteDrawer(id: string, before: Drawer | undefined, after: DrawerState | undefined): void {
    const known = this.#noted.get(`drawer ${id}`);
    if (known?.kind === "drawer") known.after = after;
    else this.#noted.set(`drawer ${id}`, { kind: "drawer", id, before, after });
  }

  /** Collects a row's state before a change. Call it before the row is changed. */
  note(kind: Exclude<ImageKind, "drawer">, id: string): void {
    const name = `${kind} ${id}`;
    if (!this.#noted.has(name)) this.#noted.set(name, { kind, id, before: this.stateOf(kind, id) });
  }

  /** Returns the images of the applied write, without the rows whose state is the same again. Call it before the next write. */
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
