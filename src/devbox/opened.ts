/** An opened stack, for the parts of `palace devbox`. */
import type { Place, Stack } from "./compose.ts";
import type { Engine } from "./engine.ts";

/** A stack that is known and ours. `before`: the project that its memory has just been copied from. */
export type Opened = Readonly<{
  stack: Stack;
  engine: Engine;
  state: string;
  place: Place;
  hasVolumes: boolean;
  before?: string | undefined;
}>;
