/** Implements `palace hook`, which agents' hooks and extensions run. It never fails an agent: errors go to the log. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileHook, Interrupted } from "../../agents/hook/file.ts";
import { isHook, runHook } from "../../agents/hook/run.ts";
import type { Scene } from "../../agents/hook/scene.ts";
import { armFault } from "../../base/fault-point.ts";
import { loadConfig } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { executable } from "../executable.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { hasPalace } from "../terminal/place.ts";
import { options, usageError, type Values, type Verb } from "../define-verb.ts";
import { orElse } from "../../base/or-else.ts";

const USAGE = `palace hook claude-code [--within MS]
palace hook wake-up [--session ID] [--resumed] [--cwd DIR] [--agent NAME] [--within MS]
palace hook turn --session NAME/ID [--fresh | --compacted] [--agent NAME] [--within MS]
palace hook turn-end --session NAME/ID [--agent NAME]
palace hook judge --session NAME/ID [--agent NAME]
palace hook file --from opencode|claude-code|pi --session ID

Agents run these commands (\`palace install\`). They never fail an agent, and print nothing if there is no memory.
For a prompt they take at most a second (turn-max-ms).

  claude-code  reads a hook's JSON from stdin. It gives a new session the wake-up text, and files a session that pauses, ends or
               is about to be compacted
  wake-up      prints that text; --resumed: only the text that this session got before; --cwd DIR: the agent's folder, whose
               project comes first
  turn         reads {"prompt", "cwd"} from stdin and prints the texts of memory with outcomes (MEMPALACE_OUTCOMES) for that
               prompt: {"scoring", "context"}; --fresh: the agent no longer sees what it was shown before; --compacted: it also
               no longer sees the conversation, so the last exchanges are printed too
  turn-end     reads {"user", "assistant", "cwd", "signals"} from stdin and stores that exchange, in 30 s at most. The user's next
               message and the signals judge it (docs/explanation/learning.md). Without a broker the exchange is spooled
  judge        reads a missing score from stdin, as turn-end prints it, and lets the model of MEMPALACE_JUDGE_URL judge it, in
               30 s at most; errors go to hook.log
  file         files what is new in a session, in one process per session; errors go to hook.log of the state folder. In
               opencode it also writes a diary entry after every 15 messages of the user
  --within MS  milliseconds it may take (default: the setting turn-max-ms)`;

const OPTIONS = options("palace= session= resumed cwd= fresh compacted agent= within= from= help|h json");
type HookValues = Values<typeof OPTIONS>;

export const verb: Verb = {
  usage: USAGE,
  execute: async (argv, env) => {
    const { values, positionals } = parse(argv);
    const [what = ""] = positionals;
    if (values.help === true || what === "") process.stdout.write(`${USAGE}\n`);
    else if (what === "file") {
      const scene = sceneOf(what, values, env);
      armFault(scene.config.fault);
      await fileHook(scene, values);
    } else if (!isHook(what)) process.stderr.write(`palace hook: there is no hook ${what}; palace hook --help\n`);
    else {
      // Ignores faulty settings, because the hook must never fail an agent.
      const scene = orElse(() => sceneOf(what, values, env), undefined);
      const text = scene === undefined ? "" : await runHook(what, scene, values);
      if (text !== "") process.stdout.write(`${text}\n`);
    }
    return 0;
  },
};

/** Prints an error for an unknown option but does not fail, because exit code 2 would stop the agent. */
function parse(argv: readonly string[]): { values: HookValues; positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    process.stderr.write(`palace hook: ${usageError(USAGE, (error as Error).message).message}\n`);
    return { values: {}, positionals: ["none"] };
  }
}

function sceneOf(what: string, values: HookValues, env: Env): Scene {
  const config = loadConfig(env, { palace: values.palace });
  const write = logFile(join(config.paths.stateDir, "hook.log"));
  return {
    ...{ config, env, log: (line) => write(`${new Date().toISOString()} ${line}\n`) },
    agent: values.agent ?? config.agentName ?? (what === "claude-code" ? what : "palace hook"),
    host: {
      palace: executable("palace"),
      hasPalace,
      mineSession: async ({ handedOn }, from, session) => {
        const [{ verb: sessions }, { EXIT_INTERRUPTED }] = await Promise.all([
          import("./sessions.ts"),
          import("../feeding/feeding.ts"),
        ]);
        const args = [...handedOn().palace, "--from", from, "--session", session, "--quiet"];
        const code = await sessions.execute(args, env);
        if (code === EXIT_INTERRUPTED) throw new Interrupted("interrupted by a signal");
        if (code !== 0) throw new Error(`palace mine sessions ended with exit code ${code}`);
      },
      saidInOpencode: async (...asked) => {
        const { saidInOpencode } = await import("../../feeders/session-miner/open.ts");
        return saidInOpencode(...asked);
      },
    },
  };
}
