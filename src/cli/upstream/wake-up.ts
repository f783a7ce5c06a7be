/** `mempalace wake-up` prints who the agent is (L0, the user's file) and what matters most (L1, from the palace). */
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { readText } from "../../base/regular-file.ts";
import { hasPalace } from "../terminal/place.ts";
import { defineVerb, options } from "../define-verb.ts";

const NO_IDENTITY = "## L0 — IDENTITY\nNo identity configured. Create ~/.mempalace/identity.txt";
const NO_STORY = "## L1 — No palace found. Run: mempalace mine <dir>";

export const verb = defineVerb({
  usage: `mempalace wake-up [--wing W]

Prints what an agent should know at the start of a session: identity.txt and the essential story of the palace, or of one wing.`,
  options: options("wing="),
  place: "any",
  run: async ({ values: { wing }, config, connect, out }) => {
    const ask = async (): Promise<string> =>
      (await (await connect("mempalace wake-up")).call("palace.wakeUp", wing === undefined ? {} : { wing })).story;
    const text = `${identity(config)}\n\n${hasPalace(config) ? await ask() : NO_STORY}`;
    const tokens = Math.floor(Array.from(text).length / 4);
    return out.answer({ text, tokens }, `Wake-up text (~${tokens} tokens):\n${"=".repeat(50)}\n${text}`);
  },
});

function identity({ paths }: Config): string {
  return readText(join(paths.settingsDir, "identity.txt"))?.trim() ?? NO_IDENTITY;
}
