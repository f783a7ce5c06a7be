/** `palace mine KIND …`: runs the feeder of that kind. */
import { PalaceError } from "../../protocol/errors.ts";
import type { Verb } from "../verb.ts";

/** Only the file of the given kind is loaded. */
const KINDS: Record<string, () => Promise<{ verb: Verb }>> = {
  projects: () => import("./projects.ts"),
  docs: () => import("./docs.ts"),
  convos: () => import("./convos.ts"),
  formats: () => import("./formats.ts"),
  sweep: () => import("./sweep.ts"),
  sessions: () => import("./sessions.ts"),
};

/** True when this version has a feeder of that name. */
export function hasKind(name: string): boolean {
  return Object.hasOwn(KINDS, name);
}

const USAGE = `palace mine projects DIR | docs DIR | convos DIR | formats DIR | sessions | sweep DIR [options]

Files a source into the palace: a project, its documentation alone, transcripts of conversations, office documents (pdf docx
pptx xlsx rtf epub), an agent's sessions.
\`palace mine docs --help\` has the options of one.`;

export const verb: Verb = {
  usage: USAGE,
  subs: KINDS,
  execute: async (argv, env) => {
    const at = argv.findIndex((one, index) => !one.startsWith("-") && argv[index - 1] !== "--palace");
    const name = argv[at] ?? "";
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (kind !== undefined) return (await kind()).verb.execute(argv.toSpliced(at, 1), env);
    if (name === "" && (argv.includes("--help") || argv.includes("-h"))) {
      process.stdout.write(`${USAGE}\n`);
      return 0;
    }
    const problem = name === "" ? "a kind of source is missing" : `there is no kind of source ${name}`;
    throw new PalaceError(
      "CONFIG_USAGE",
      problem,
      "usage: palace mine projects DIR | docs DIR | convos DIR | formats DIR | sessions | sweep DIR",
    );
  },
};
