/** `mempalace hook run` answers the hooks of MemPalace's plugins, with the words and names of 3.11. */
import { CHECKPOINT_EVERY } from "../../agents/hook/checkpoint.ts";
import { answerMempalace, HOOK_NAMES } from "../../agents/hook/mempalace.ts";
import { type PalaceError, wrongUsage } from "../../base/errors.ts";
import { executable } from "../executable.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { defineVerb } from "../define-verb.ts";

/** Maps a host program to the name of the agent that owns the diary. */
const HARNESSES: Readonly<Record<string, string>> = { "claude-code": "claude", codex: "codex" };

const USAGE = `mempalace hook run --hook session-start|stop|session-end|precompact --harness claude-code|codex

For the hooks of coding agents: reads one JSON document from stdin, answers one on stdout. After every ${CHECKPOINT_EVERY} messages of the
user, stop writes a checkpoint to the diary and mines the transcript; precompact and session-end only mine it.`;

export const verb = defineVerb({
  usage: USAGE,
  options: { hook: { type: "string" }, harness: { type: "string" } },
  args: [0, 1],
  place: "any",
  run: async ({ values: { hook = "", harness = "" }, args: [run], config, env, out }) => {
    if (run === undefined) {
      out.text(USAGE);
      return 0;
    }
    if (run !== "run") throw usage(`hook ${run}: the only action is run`);
    if (!HOOK_NAMES.some((name) => name === hook)) throw usage(`--hook takes ${HOOK_NAMES.join(", ")}, not ${hook}`);
    const agent = Object.hasOwn(HARNESSES, harness) ? HARNESSES[harness] : undefined;
    if (agent === undefined) throw usage(`--harness takes ${Object.keys(HARNESSES).join(", ")}, not ${harness}`);
    const palace = executable("palace");
    out.document(await answerMempalace({ config, agent, env, palace, openLog: logFile }, hook));
    return 0;
  },
});

function usage(message: string): PalaceError {
  return wrongUsage(message, "mempalace hook --help");
}
