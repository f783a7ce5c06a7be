/** `palace edit ID` changes a drawer's text in an editor, or moves it to another wing or room. */
import { type Client, withClient } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { wrongUsage } from "../../base/errors.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import { shownSource } from "../../feeders/came-from.ts";
import { findDrawer, shortId, type ShownDrawer, undoCommand } from "../terminal/drawer.ts";
import { editText } from "../terminal/editor.ts";
import type { Output } from "../terminal/output.ts";
import { readUtf8 } from "../terminal/utf8.ts";
import { writeOrSpool } from "../tool-call.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace edit ID [--wing W] [--room R]

Opens a drawer's text in $EDITOR and stores what you save; without a terminal it reads the new text from stdin. An unchanged text
writes nothing. It prints the command that undoes the change. ID is a drawer's id, its beginning, or its short id.

  --wing W, --room R   move the drawer there instead; its text stays`,
  options: options("wing= room="),
  args: [1, 1],
  forOwner: true,
  run: async ({ values, args: [given = ""], config, env, out }) => {
    const agent = config.agentName ?? "palace edit";
    const { wing, room } = values;
    const drawer = await withClient({ config, agent, start: "auto" }, (client) => findWithSecrets(client, given));
    const { drawer_id: id, content: before } = drawer;
    if (wing !== undefined || room !== undefined) {
      const place = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
      const isSame = (wing ?? drawer.wing) === drawer.wing && (room ?? drawer.room) === drawer.room;
      return isSame ? unchanged(id, out) : update(id, place, { config, agent, out });
    }
    const store = async (after: string): Promise<number> => {
      if (after === before) return unchanged(id, out);
      if (after.trim() === "")
        throw wrongUsage("the new text is empty; nothing was changed", `palace rm ${shortId(id)}`);
      await assertUnchanged(config, agent, { id, before });
      return update(id, { content: after }, { config, agent, out, source: drawer.source_path });
    };
    if (process.stdin.isTTY) return editText(before, env, out, store);
    const typed = await readUtf8(process.stdin);
    return store(before.endsWith("\n") ? typed : typed.replace(/\r?\n$/, ""));
  },
});

/** Finds the drawer with unmasked text: if the owner edited masked text, the masks would replace the secrets. */
async function findWithSecrets(client: Client, given: string): Promise<ShownDrawer & { content: string }> {
  const drawer = await findDrawer(client, given);
  const content = drawer.content ?? "";
  if (!content.includes("[redacted: ")) return { ...drawer, content };
  const answer = await client.call("drawer.reveal", { id: drawer.drawer_id });
  return answer.found ? { ...drawer, content: String(answer.drawer["content"]) } : { ...drawer, content };
}

/** Refuses if another client changed the text while the editor was open. Errors: CONFIG_USAGE. */
async function assertUnchanged(
  config: Config,
  agent: string,
  { id, before }: { id: string; before: string },
): Promise<void> {
  const now = await withClient({ config, agent, start: "auto" }, (client) => findWithSecrets(client, id));
  if (now.content === before) return;
  throw wrongUsage(
    "somebody else changed this drawer meanwhile; nothing was changed",
    `look at it, then edit it again: palace show ${shortId(id)}`,
  );
}

type Asked = { config: Config; agent: string; out: Output; source?: string };

async function update(id: string, change: JsonObject, { config, agent, out, source = "" }: Asked): Promise<number> {
  const sinceMs = Date.now();
  const args = { drawer_id: id, ...change };
  const done = await writeOrSpool({ config, agent, name: "mempalace_update_drawer", args }, "nothing was changed");
  const undo = undoCommand(agent, sinceMs);
  if (out.isJson) return out.document({ ...done, undo: out.spelled(undo) });
  out.text(`Changed ${id}.`);
  if (source !== "")
    out.notice(`it was filed from ${shownSource(config, source)}: mining the changed file replaces this edit`);
  out.hint(`to undo this: ${undo}`);
  return 0;
}

function unchanged(id: string, out: Output): number {
  return out.answer({ success: true, drawer_id: id, noop: true }, "Nothing was changed.");
}
