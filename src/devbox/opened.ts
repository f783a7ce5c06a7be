/** An opened stack, as the parts of `palace devbox` hand it on. */
import type { Place, Stack } from "./compose.ts";
import type { Engine } from "./engine.ts";

/** A stack that is known and ours; `before`: the project that its memory was copied from just now. */
export type Opened = Readonly<{
  stack: Stack;
  engine: Engine;
  state: string;
  place: Place;
  hasVolumes: boolean;
  before?: string | undefined;
}>;
