/** `mempalace sweep TARGET`: `palace mine sweep` with upstream's flags. */
import { defineVerb } from "../verb.ts";
import { verb as sweep } from "../verb/sweep.ts";

export const verb = defineVerb({
  usage: `mempalace sweep TARGET

Files every message of Claude Code's transcripts (TARGET: a folder or one .jsonl) as a drawer of its own: for what a mine left out.`,
  options: {},
  args: [1, 1],
  run: ({ args: [target = ""], config, env, out }) => {
    const { paths } = config;
    const palace = paths.palaceDir === paths.home ? ["--palace", paths.home] : [];
    return sweep.execute([target, ...palace, ...(out.isJson ? ["--json"] : [])], env);
  },
});
