/** Input of every step. */
import type { Stack, Place, Watch } from "../compose.ts";
import type { Engine } from "../engine.ts";

export type Room = Watch &
  Readonly<{
    place: Place;
    stack: Stack;
    engine: Engine;
    /** Folder of what is kept of this stack. */
    state: string;
    cacheDir: string;
  }>;
