/** Maps the verbs of `roampal` to our verbs. */
import { loadConfig } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { badValue } from "../../base/errors.ts";
import { assertOpen, assertOwnBroker, doorOf, restartWith } from "../settings/outcome-door.ts";
import { defineVerb, options, type Verb } from "../define-verb.ts";
import { handOn } from "./format.ts";
import { orElse } from "../../base/or-else.ts";

/** `before`: arguments that precede the user's arguments. */
export type Entry = Readonly<{ does: string; before: readonly string[]; load: () => Promise<Verb> }>;

const outcome = (does: string, name: string): Entry => ({
  ...{ does, before: [name] },
  load: async () => (await import("../verbs/outcome.ts")).verb,
});
const palace = (does: string, load: () => Promise<{ verb: Verb }>): Entry => ({
  ...{ does, before: [] },
  load: async () => (await load()).verb,
});

const AGENTS = ["claude-code", "opencode", "cursor"] as const;
const DEV_OPTION = "--dev";
const DEV_PORT = "27183";

const init = defineVerb({
  usage: `roampal init [--claude-code] [--opencode] [--cursor]

Wires the named agents to the memory, or else all that it finds (\`palace install\`), and says how to turn learning on.`,
  options: options("claude-code opencode cursor force|f no-input"),
  place: "any",
  run: async ({ values, config, out }) => {
    const { verb } = await import("../verbs/install.ts");
    const named = AGENTS.filter((name) => values[name] === true);
    let code = 0;
    for (const agent of named.length === 0 ? ["all"] : named)
      code = Math.max(code, await handOn(verb, [agent], { config, out }));
    out.notice("to turn learning on in every agent: palace config set outcomes on");
    return code;
  },
});

const start = defineVerb({
  usage: `roampal start [--port PORT]

Opens the door for programs that speak Roampal's HTTP API, at 27182 or PORT; it stays open until MEMPALACE_OUTCOME_PORT=off
palace restart. It restarts a broker that has no such door; connected agents connect again by themselves.`,
  options: options("port= host="),
  place: "anew",
  run: async ({ values: { port, host = "127.0.0.1" }, config, env, out }) => {
    if (host !== "127.0.0.1" && host !== "localhost")
      throw badValue(
        `only this machine can reach the door; it does not listen on ${host}`,
        "MEMPALACE_LISTEN=tcp://HOST:PORT palace restart opens one to other machines, with the same API",
      );
    assertOwnBroker(config);
    let door = await doorOf(config);
    if (door === undefined || (port !== undefined && String(door.port) !== port)) {
      // `roampal start` opens the door even if MEMPALACE_OUTCOME_PORT is `off`, because the user has asked for the door.
      const named = env["MEMPALACE_OUTCOME_PORT"] ?? "";
      const MEMPALACE_OUTCOME_PORT = port ?? (named === "" || named === "off" ? "on" : named);
      door = await restartWith(config, { MEMPALACE_OUTCOME_PORT });
    }
    const opened = assertOpen(door);
    return out.answer(opened, `Roampal's API: http://127.0.0.1:${opened.port}/api/health`);
  },
});

/** Gives the development memory (`--dev`) its own folder and port, without the usual memory's variables. Source: outcome-memory.md 4.1. */
export function asDeveloper(verb: string, args: readonly string[], env: Env): { args: string[]; env: Env } {
  const rest = args.filter((one) => one !== DEV_OPTION);
  // The verb reports a faulty configuration.
  const config = orElse(() => loadConfig(env), undefined);
  if (config === undefined || (rest.length === args.length && !config.isRoampalDev)) return { args: rest, env };
  const { MEMPALACE_BROKER: _broker, MEMPALACE_OUTCOME_PORT: _port, ...own } = env;
  const door = verb === "start" ? { MEMPALACE_OUTCOME_PORT: DEV_PORT } : {};
  return { args: rest, env: { ...own, ...door, MEMPALACE_PATH: `${config.paths.home}-dev` } };
}

export const VERBS: Readonly<Record<string, Entry>> = {
  init: { does: "wire agents to the memory", before: [], load: () => Promise.resolve(init) },
  start: { does: "open the door for programs, at port 27182", before: [], load: () => Promise.resolve(start) },
  stop: palace("stop the broker; it stays stopped until `palace start`", () => import("../verbs/stop.ts")),
  status: palace("show the running broker and its contents", () => import("../verbs/status.ts")),
  stats: outcome("how many memories each collection holds", "stats"),
  doctor: palace("check everything, and say what to do", () => import("../verbs/doctor.ts")),
  score: outcome("ID worked|failed|partial: your own judgment of a memory", "score"),
  why: outcome("ID: explain a memory's score", "why"),
  ingest: outcome("FILE: file a book", "ingest"),
  books: outcome("list the books", "books"),
  remove: outcome("TITLE: remove a book", "remove"),
};

/** Roampal's commands that we lack, each with what to do instead. */
export const ABSENT: Readonly<Record<string, string>> = {
  context: 'palace call get_context_insights \'{"query":"WORDS"}\'',
  summarize: "this program shortens nothing: it keeps a memory word for word",
  sidecar: "MEMPALACE_JUDGE_URL and MEMPALACE_JUDGE_MODEL in the environment of the agents: docs/how-to/learning.md",
  retag: "this memory has no tags",
  profile: "another memory is another folder: palace --palace DIR VERB",
  reembed: "palace repair",
};
