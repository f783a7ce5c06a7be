/** Input of every step of a recreate. */
import type { Stack, Place, Watch } from "../compose.ts";
import type { Engine } from "../engine.ts";

export type Room = Watch &
  Readonly<{
    place: Place;
    stack: Stack;
    engine: Engine;
    /** Folder with the state of this stack. */
    state: string;
    cacheDir: string;
  }>;
