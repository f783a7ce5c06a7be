#!/usr/bin/env node
/** `mempalace-session` files the sessions of a coding agent. */
import "../base/node-version.ts";
import { runVerb } from "../cli/define-verb.ts";

await runVerb("mempalace-session", (await import("../cli/verbs/sessions.ts")).verb, process.argv.slice(2), process.env);
