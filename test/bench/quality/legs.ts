/** Lists what our search can be measured with, each as settings of a palace. */
import type { Env } from "../../../src/config/env.ts";
import { realModelDir } from "../../helpers/palace.ts";

/**
 * `mode`: of the search. `env`: the leg's settings; undefined if it cannot be measured here, and `why` says the reason. A leg whose env names a
 * model gets a palace in which everything is embedded.
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
