/** `mempalace wake-up` prints who the agent is (L0, the user's file) and what matters most (L1, from the palace). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connectClient } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { hasPalace } from "../terminal/place.ts";
import { defineVerb, options } from "../define-verb.ts";

const NO_IDENTITY = "## L0 — IDENTITY\nNo identity configured. Create ~/.mempalace/identity.txt";
/** Text of the answer for an empty palace. */
const NO_STORY = "## L1 — No palace found. Run: mempalace mine <dir>";

export const verb = defineVerb({
  usage: `mempalace wake-up [--wing W]

Prints what an agent should know at the start of a session: identity.txt and the essential story of the palace, or of one wing.`,
  options: options("wing="),
  place: "any",
  run: async ({ values: { wing }, config, out }) => {
    const text = `${identity(config)}\n\n${hasPalace(config) ? await askStory(config, wing) : NO_STORY}`;
    const tokens = Math.floor(Array.from(text).length / 4);
    return out.answer({ text, tokens }, `Wake-up text (~${tokens} tokens):\n${"=".repeat(50)}\n${text}`);
  },
});

async function askStory(config: Config, wing: string | undefined): Promise<string> {
  const client = await connectClient({ config, agent: "mempalace wake-up", start: "auto" });
  const params = wing === undefined ? {} : { wing };
  return (await client.call("palace.wakeUp", params).finally(() => client.close())).story;
}

function identity({ paths }: Config): string {
  try {
    return readFileSync(join(paths.settingsDir, "identity.txt"), "utf8").trim();
  } catch {
    return NO_IDENTITY;
  }
}
