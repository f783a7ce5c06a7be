/**
 * Implements `palace hook`, which agents' hooks, the pi extension and the opencode plugin run. It never fails an agent
 * or delays it by more than one second, counted from the start of the process; then it ends without an answer. stdout
 * has only the answer; errors go to the log.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileHook } from "../../agents/hook/file.ts";
import { isHook, runHook } from "../../agents/hook/run.ts";
import type { Scene } from "../../agents/hook/scene.ts";
import { loadConfig } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { executable } from "../executable.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { hasPalace } from "../terminal/place.ts";
import { usageError, type Verb } from "../define-verb.ts";

const USAGE = `palace hook claude-code [--within MS]
palace hook wake-up [--session ID] [--resumed] [--cwd DIR] [--agent NAME] [--within MS]
palace hook turn --session NAME/ID [--fresh | --compacted] [--agent NAME] [--within MS]
palace hook turn-end --session NAME/ID [--agent NAME]
palace hook judge --session NAME/ID [--agent NAME]
palace hook file --from opencode|claude-code|pi --session ID

For coding agents; \`palace install\` enters it. It never fails an agent and takes a second at most (\`palace config get turn-max-ms\`): without a memory it says nothing.

  claude-code  reads a hook's JSON from stdin: a session that begins is told what the palace says, one that pauses, is about to
               be compacted or ends is filed
  wake-up      prints that text; --resumed: only what the same session was told before; --cwd DIR: the agent's folder, whose
               project comes first
  turn         reads {"prompt", "cwd"} from stdin and prints what memory with outcomes (MEMPALACE_OUTCOMES) says beside that prompt:
               {"scoring", "context"}; --fresh: the agent no longer sees what it was shown before; --compacted: nor what
               was said, whose last exchanges are told
  turn-end     reads {"user", "assistant", "cwd", "signals"} from stdin and keeps that exchange, in 30 s at most: what the
               user says next judges it, and so do signals (docs/explanation/learning.md); without a broker it waits for one on disk
  judge        reads from stdin what turn-end tells of a score that is owed, where the agent has not scored, and has the model of
               MEMPALACE_JUDGE_URL judge it, in 30 s at most (what went wrong stands in hook.log)
  file         files what is new in a session, in one process a session (what went wrong stands in hook.log of the state folder);
               after every 15 messages of the user in opencode, an entry in its diary too
  --within MS  milliseconds it may take (default: the setting turn-max-ms)`;

const OPTIONS = {
  palace: { type: "string" },
  session: { type: "string" },
  resumed: { type: "boolean" },
  cwd: { type: "string" },
  fresh: { type: "boolean" },
  compacted: { type: "boolean" },
  agent: { type: "string" },
  within: { type: "string" },
  from: { type: "string" },
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
} as const;
type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

export const verb: Verb = {
  usage: USAGE,
  execute: async (argv, env) => {
    const { values, positionals } = parse(argv);
    const [what = ""] = positionals;
    if (values.help === true || what === "") process.stdout.write(`${USAGE}\n`);
    else if (what === "file") await fileHook(sceneOf(what, values, env), values);
    else if (!isHook(what)) process.stderr.write(`palace hook: there is no hook ${what}; palace hook --help\n`);
    else {
      const scene = usable(what, values, env);
      const text = scene === undefined ? "" : await runHook(what, scene, values);
      // Writes the whole answer at once.
      if (text !== "") process.stdout.write(`${text}\n`);
    }
    return 0;
  },
};

/** Parses the arguments. An unknown option of another version must not stop an agent, as exit code 2 would. */
function parse(argv: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    process.stderr.write(`palace hook: ${usageError(USAGE, (error as Error).message).message}\n`);
    return { values: {}, positionals: ["none"] };
  }
}

/** Returns the context; undefined if the settings are faulty, because that must not fail an agent. */
function usable(what: string, values: Values, env: Env): Scene | undefined {
  try {
    return sceneOf(what, values, env);
  } catch {
    return undefined;
  }
}

/** Makes the context. Errors: CONFIG_BAD_VALUE. */
function sceneOf(what: string, values: Values, env: Env): Scene {
  const config = loadConfig(env, { palace: values.palace });
  const write = logFile(join(config.paths.stateDir, "hook.log"));
  return {
    ...{ config, env, log: (line) => write(`${new Date().toISOString()} ${line}\n`) },
    agent: values.agent ?? config.agentName ?? (what === "claude-code" ? what : "palace hook"),
    host: {
      palace: executable("palace"),
      hasPalace,
      mineSession: async ({ handedOn }, from, session) => {
        const { verb: sessions } = await import("./sessions.ts");
        await sessions.execute([...handedOn().palace, "--from", from, "--session", session, "--quiet"], env);
      },
      saidInOpencode: async (...asked) => {
        const { saidInOpencode } = await import("../../feeders/session-miner/open.ts");
        return saidInOpencode(...asked);
      },
    },
  };
}
