/**
 * `npm run bench:quality -- [--set locomo|docs|talks] [--leg NAME] [--without-model] [--without-python] [--kind KIND] [--env NAME=VALUE]
 * [--misses] [--save FILE]` measures what search finds by words, with the static table and with MiniLM, and what the real MemPalace finds
 * in the same files. quality/README.md describes the sets and the legs (variants of our search). Palaces are made once per machine, in
 * ~/.cache/devbox-ci/quality: the first run takes a quarter of an hour, a later run a minute or two. If a leg's data, model, registry or
 * Python is missing, the bench skips the leg and fails at the end.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { DOCS_LIMIT, docsSet } from "./quality/docs-set.ts";
import { LEGS } from "./quality/legs.ts";
import { locomoSet } from "./quality/locomo-set.ts";
import { talksSet } from "./quality/talks-set.ts";
import type { Options, Outcome } from "./quality/options.ts";

process.env["ORT_DISABLE_TELEMETRY"] = "1";

const { values } = parseArgs({
  options: {
    set: { type: "string" },
    leg: { type: "string" },
    kind: { type: "string" },
    env: { type: "string", multiple: true, default: [] },
    "without-model": { type: "boolean", default: false },
    "without-python": { type: "boolean", default: false },
    misses: { type: "boolean", default: false },
    save: { type: "string" },
  },
});
const more = Object.fromEntries(values.env.map((pair) => [pair.split("=")[0], pair.slice(pair.indexOf("=") + 1)]));
const isAsked = (name: string): boolean =>
  values.leg === undefined ? !values["without-model"] || name === "words" : name.includes(values.leg);
const options: Options = {
  legs: LEGS.filter(({ name }) => isAsked(name)).map((leg) => ({ ...leg, env: leg.env && { ...leg.env, ...more } })),
  hasPython: !values["without-python"] && !values["without-model"] && values.leg === undefined,
  kind: values.kind,
  print: (text) => process.stdout.write(`${text}\n`),
  leaveOut(what, why) {
    process.stderr.write(`NOT MEASURED: ${what}: ${why}\n`);
    process.exitCode = 1;
  },
};

const SETS: Readonly<Record<string, (options: Options) => Promise<Outcome[]>>> = {
  locomo: locomoSet,
  docs: docsSet,
  talks: talksSet,
};
if (values.set !== undefined && SETS[values.set] === undefined) {
  process.stderr.write(`no set ${values.set}; there are ${Object.keys(SETS).join(", ")}\n`);
  process.exit(2);
}
const outcomes: Outcome[] = [];
for (const [name, measure] of Object.entries(SETS))
  if (values.set === undefined || values.set === name) outcomes.push(...(await measure(options)));
if (values.misses) for (const outcome of outcomes) for (const text of outcome.misses) options.print(text);
if (values.save !== undefined) writeFileSync(values.save, JSON.stringify(outcomes, null, 1));
options.print(`(a passage after ${DOCS_LIMIT} hits counts as not found)`);
