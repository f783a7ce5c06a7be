#!/usr/bin/env node
/** `mempalace-session` files the sessions of a coding agent. */
import "../base/node-version.ts";
import { runVerb } from "../cli/verb.ts";

await runVerb("mempalace-session", (await import("../cli/verb/sessions.ts")).verb, process.argv.slice(2), process.env);
