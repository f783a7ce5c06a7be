/** `palace mine PATH` and `palace mine KIND …` run the feeder of that kind; without a KIND, the documents' feeder. */
import { statSync } from "node:fs";
import type { Env } from "../../config/env.ts";
import { wrongUsage } from "../../base/errors.ts";
import { spelled } from "../terminal/spelling.ts";
import type { Verb } from "../define-verb.ts";

const KINDS: Record<string, () => Promise<{ verb: Verb }>> = {
  projects: async () => ({ verb: (await import("./docs.ts")).projects }),
  docs: () => import("./docs.ts"),
  convos: () => import("./convos.ts"),
  formats: async () => ({ verb: (await import("./docs.ts")).formats }),
  sweep: () => import("./sweep.ts"),
  sessions: () => import("./sessions.ts"),
  git: () => import("./git.ts"),
};

const OTHER_KINDS =
  "documents only; all text and code: palace mine projects DIR, office files: formats DIR, conversations: convos DIR, commits: git DIR";

const USAGE = `palace mine PATH | docs DIR | projects DIR | convos DIR | formats DIR | sessions | git [DIR] | sweep DIR [options]

Files a source into the palace: a project, its documentation alone, transcripts of conversations, office documents (pdf docx
pptx xlsx rtf epub), an agent's sessions, the commits of a git repository. PATH, a folder or a file, means its documentation, as \`palace mine docs PATH\`.
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
    if (name !== "" && statSync(name, { throwIfNoEntry: false }) !== undefined) return mineDocuments(name, argv, env);
    const problem = name === "" ? "a kind of source is missing" : `${name} is neither a path nor a kind of source`;
    throw wrongUsage(
      problem,
      "usage: palace mine PATH | projects DIR | docs DIR | convos DIR | formats DIR | sessions | git [DIR] | sweep DIR",
    );
  },
};

async function mineDocuments(path: string, argv: readonly string[], env: Env): Promise<number> {
  const isAlone = argv.some((one) => one === "--json" || one === "--quiet");
  const code = await (await import("./docs.ts")).verb.execute(argv, env);
  if (!isAlone && statSync(path).isDirectory()) process.stderr.write(`${spelled(OTHER_KINDS)}\n`);
  return code;
}
