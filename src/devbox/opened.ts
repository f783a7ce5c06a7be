/** An opened stack, for the parts of `palace devbox`. */
import type { Place, Stack } from "./compose.ts";
import type { Engine } from "./engine.ts";

/** A stack that belongs to this folder, with its settings. `before`: the project from which its memory has just been copied. */
export type Opened = Readonly<{
  stack: Stack;
  engine: Engine;
  state: string;
  place: Place;
  hasVolumes: boolean;
  before?: string | undefined;
}>;
