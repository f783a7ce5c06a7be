/** Variants of our search that the quality bench measures, called legs. */
import type { Env } from "../../../src/config/env.ts";
import { realModelDir } from "../../helpers/palace.ts";

/**
 * `env`: settings of the leg; undefined if the leg cannot be measured on this machine (`why` has the reason). A leg whose env names a
 * model gets a palace with that model's vectors.
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
