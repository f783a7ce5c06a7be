/** Type of an opened stack, which all commands of `palace devbox` share. */
import type { Place, Stack } from "./compose.ts";
import type { Engine } from "./engine.ts";

/** Stack that this folder may use. `before`: the project from which the stack's memory has just been copied. */
export type Opened = Readonly<{
  stack: Stack;
  engine: Engine;
  state: string;
  place: Place;
  hasVolumes: boolean;
  before?: string | undefined;
}>;
