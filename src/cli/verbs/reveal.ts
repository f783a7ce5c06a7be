/** `palace reveal DRAWER_ID`: prints a drawer as it was filed, for people; agents get it with its secrets masked. */
import { PalaceError } from "../../base/errors.ts";
import { wholeId } from "../terminal/drawer.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace reveal DRAWER_ID

Prints a drawer's text word for word, also where tools mask a secret in it ([redacted: KIND], MEMPALACE_REDACT). For the user on
the broker's machine and for admins' tokens; the broker's log notes who looked at which drawer.`,
  args: [1, 1],
  forOwner: true,
  run: async ({ args: [id = ""], connect, out }) => {
    const client = await connect("palace reveal");
    const answer = await client.call("drawer.reveal", { id: await wholeId(client, id) });
    if (!answer.found)
      throw new PalaceError(
        "PROTOCOL_BAD_PARAMS",
        `no drawer ${id}`,
        "look for its id: palace search WORDS, or palace ls",
      );
    return out.answer(answer.drawer, String(answer.drawer["content"]));
  },
});
