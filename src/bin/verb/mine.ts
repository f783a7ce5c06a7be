/** `palace mine KIND …`: hands over to the feeder of that kind. */
import { PalaceError } from "../../protocol/errors.ts";
import type { Verb } from "../verb.ts";
import { verb as docs } from "./docs.ts";

const KINDS: Record<string, Verb> = { docs };
const USAGE = `palace mine docs DIR [options]

Files a source into the palace. \`palace mine docs --help\` has the options.`;

export const verb: Verb = {
  usage: USAGE,
  execute: async (argv, env) => {
    const at = argv.findIndex((one, index) => !one.startsWith("-") && argv[index - 1] !== "--palace");
    const name = argv[at] ?? "";
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (kind !== undefined) return kind.execute(argv.toSpliced(at, 1), env);
    if (name === "" && (argv.includes("--help") || argv.includes("-h"))) {
      process.stdout.write(`${USAGE}\n`);
      return 0;
    }
    const problem = name === "" ? "a kind of source is missing" : `there is no kind of source ${name}`;
    throw new PalaceError("CONFIG_USAGE", problem, `usage: palace mine ${Object.keys(KINDS).join("|")} DIR`);
  },
};
