/** Lists the legs of the bench: the variants of our search that can be measured, each as settings of a palace. */
import type { Env } from "../../../src/config/env.ts";
import { realModelDir } from "../../helpers/palace.ts";

/**
 * `mode`: the search's mode. `env`: the leg's settings. `env` is undefined if the leg cannot be measured here, and `why` then gives the
 * reason. A leg whose env names a model gets a palace in which everything is embedded.
 */
export type Leg = { name: string; mode: "lexical" | "auto"; env: Env | undefined; why?: string };

export const LEGS: readonly Leg[] = [
  { name: "words", mode: "lexical", env: {} },
  { name: "+ static", mode: "auto", env: {} },
  {
    name: "+ MiniLM",
    mode: "auto",
    env: realModelDir === undefined ? undefined : { MEMPALACE_MODEL_DIR: realModelDir },
    why: "../shared/models is not beside this checkout",
  },
];
