/** `mempalace sweep TARGET` runs `palace mine sweep` with upstream's flags. */
import { EXIT_PARTIAL } from "../feeding/mining.ts";
import { defineVerb, options } from "../define-verb.ts";
import { verb as sweep } from "../verbs/sweep.ts";
import { handOn } from "./format.ts";

/** Upstream's exit code if some files could not be filed. */
const EXIT_SOME_FAILED = 2;

export const verb = defineVerb({
  usage: `mempalace sweep TARGET

Files every message of Claude Code's transcripts (TARGET: a folder or one .jsonl) as a drawer of its own, because a mine leaves parts out.`,
  // These options have no effect, because the broker always writes.
  options: options("daemon direct background"),
  args: [1, 1],
  place: "any",
  run: async ({ args: [target = ""], config, out }) => {
    const code = await handOn(sweep, [target], { config, out });
    return code === EXIT_PARTIAL ? EXIT_SOME_FAILED : code;
  },
});
