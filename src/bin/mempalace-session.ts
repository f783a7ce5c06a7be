#!/usr/bin/env node
/** `mempalace-session` files the sessions of a coding agent. */
import "../platform/node-version.ts";
import { runVerb } from "./verb.ts";

await runVerb("mempalace-session", (await import("./verb/sessions.ts")).verb, process.argv.slice(2), process.env);
