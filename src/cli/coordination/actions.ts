/** Builds a verb with several actions, `palace VERB ACTION …`; each action is a verb, too. */
import { PalaceError } from "../../base/errors.ts";
import { Output } from "../terminal/output.ts";
import { hasFlag, type Verb } from "../define-verb.ts";

/** Builds a verb from its actions. If the user names no action, the verb lists them, as MemPalace's commands do. */
export function verbOfActions(usage: string, actions: Readonly<Record<string, Verb>>): Verb {
  return {
    usage,
    subs: Object.fromEntries(
      Object.entries(actions).map(([name, verb]) => [name, (): Promise<{ verb: Verb }> => Promise.resolve({ verb })]),
    ),
    execute: async (argv, env) => {
      const at = argv.findIndex((one, index) => !one.startsWith("-") && argv[index - 1] !== "--palace");
      const name = argv[at];
      if (name === undefined) return new Output({ json: hasFlag(argv, "--json") }).answer({ help: usage }, usage);
      const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
      if (action !== undefined) return action.execute(argv.toSpliced(at, 1), env);
      throw new PalaceError("CONFIG_USAGE", `invalid choice: '${name}'`, `one of: ${Object.keys(actions).join(", ")}`);
    },
  };
}
