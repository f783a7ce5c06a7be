#!/usr/bin/env node
/** `mempalace-docs DIR` files a project's documentation. `mempalace-docs why FILE` explains one decision about a file. */
import "../base/node-version.ts";
import { runVerb } from "../cli/define-verb.ts";

const [first = "", ...rest] = process.argv.slice(2);
if (first === "why") await runVerb("mempalace-docs", (await import("../cli/verbs/why.ts")).verb, rest, process.env);
else await runVerb("mempalace-docs", (await import("../cli/verbs/docs.ts")).verb, process.argv.slice(2), process.env);
