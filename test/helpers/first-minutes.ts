/** Writes docs/lab/first-minutes.md of what was really typed and said. */
import { availableParallelism } from "node:os";

/** `said` is what a user sees when it has ended, without progress. */
export type Step = Readonly<{ typed: string; said: string; ms: number }>;

const CLONE = "palace-devbox";
/** Of what is said: as far as the fact in a search's answer. */
const LINES_MAX = 16;
const LINE_MAX = 160;

/** `clone` is shown as the folder that a user has. */
export function firstMinutes(steps: readonly Step[], clone: string): string {
  const totalMs = steps.reduce((sum, { ms }) => sum + ms, 0);
  const shown = [`$ git clone … && cd ${CLONE}`, ...steps.map((step) => show(step, clone))];
  return `# The first five minutes

<!-- Written by \`PALACE_WRITE_DOCS=1 npx vitest run --project topology test/topology/fresh-clone.test.ts\`. -->

From a clone to a fact that one agent was told and another one knows, in ${seconds(totalMs)}. The test that wrote this page types it again in every run, and is red where
the page shows anything else. Its numbers are of one machine with ${availableParallelism()} cores on ${new Date().toISOString().slice(0, 10)}.

It is the worse of two mornings: an old Node, an empty home, nothing in any cache but the base image, and a proxy that inspects TLS, whose certificates the
user has as \`~/proxy.pem\`. The first \`up\` brings Node 24 and the packages, and stops where the image build meets the proxy; without such a proxy
it goes on to what the second one says. The agents are the real ones. Their model needs no network: it makes the call that a line \`@@tool\` names and answers with
what came back, so that the times are the software's alone. A real model is asked in the words above that line; its key goes into \`.env.devbox\` before \`up\`
([the devbox](../how-to/devbox.md)).

\`\`\`console
${shown.join("\n\n")}
\`\`\`
`;
}

/** All of a page but the numbers in what is not typed: times, counts and the day are those of one run. */
export function withoutNumbers(page: string): string[] {
  return page.split("\n").map((line) => (/^[$>] /.test(line) ? line : line.replaceAll(/\d+/g, "0")));
}

function show({ typed, said, ms }: Step, clone: string): string {
  const lines = said.trim().replaceAll(clone, `~/${CLONE}`).split("\n");
  const shown = lines.slice(0, LINES_MAX).map(shorten);
  if (shown.length < lines.length) shown.push("…");
  return [`$ ${typed.replaceAll("\n", "\n> ")}`, ...shown, `# ${seconds(ms)}`].join("\n");
}

function shorten(line: string): string {
  return line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)} …` : line;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
