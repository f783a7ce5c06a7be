#!/usr/bin/env node
/** `roampal VERB`: Roampal's command line (outcome-memory.md 9). The error for a verb that we lack names a command of ours. */
import "../base/node-version.ts";
import { VERSION } from "../base/version.ts";
import { wrongUsage } from "../base/errors.ts";
import { ABSENT, asDeveloper, type Entry, VERBS } from "../cli/upstream/roampal.ts";
import { runVerb } from "../cli/define-verb.ts";

const [name = "", ...given] = process.argv.slice(2);
const { args: rest, env } = asDeveloper(name, given, process.env);
const entry: Entry | undefined = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
const before = entry?.before ?? [];
await runVerb("roampal", (await entry?.load()) ?? { usage: "", execute: withoutVerb }, [...before, ...rest], env);

async function withoutVerb(): Promise<number> {
  const instead = Object.hasOwn(ABSENT, name) ? ABSENT[name] : undefined;
  if (name === "--version") process.stdout.write(`roampal (palace-devbox ${VERSION})\n`);
  else if (["", "help", "--help", "-h"].includes(name)) printHelp();
  else throw wrongUsage(`there is no verb ${name}`, instead ?? "roampal help");
  return 0;
}

function printHelp(): void {
  const lines = Object.entries(VERBS).map(([verb, { does }]) => `  ${verb.padEnd(8)} ${does}`);
  process.stdout.write(
    `roampal VERB [options]\n\n${lines.join("\n")}\n\n--dev, or ROAMPAL_DEV=1: another memory, beside the usual one, whose door is at port 27183.\nThe memory is the palace's: \`palace --help\`; docs/how-to/learning.md.\n`,
  );
}
