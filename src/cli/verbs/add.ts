/** `palace add TEXT` files a person's note. */
import { homedir } from "node:os";
import type { Config } from "../../config/config.ts";
import { projectAround } from "../../feeders/doc-miner/root.ts";
import { wrongUsage } from "../../base/errors.ts";
import { shortId } from "../terminal/drawer.ts";
import { editText } from "../terminal/editor.ts";
import type { Output } from "../terminal/output.ts";
import { readUtf8 } from "../terminal/utf8.ts";
import { writeOrSpool } from "../tool-call.ts";
import { defineVerb, options } from "../define-verb.ts";

const WING = "me";
const ROOM = "notes";

export const verb = defineVerb({
  usage: `palace add [TEXT...] [--wing W] [--room R]

Files a note, word for word, and prints its id. Without TEXT it reads stdin, or opens $EDITOR on a terminal.

  --wing W   file into wing W (default: the project of this folder, or ${WING} outside a project)
  --room R   file into room R (default: ${ROOM})
While no broker answers, the note is spooled on this machine and filed as soon as one does.`,
  options: options("wing= room="),
  args: [0, Infinity],
  place: "anew",
  run: async ({ values, args, config, env, out }) => {
    const place = { wing: values.wing ?? (await wingHere(config)), room: values.room ?? ROOM };
    const isTyped = args.length > 0 && !(args.length === 1 && args[0] === "-");
    if (!isTyped && args.length === 0 && process.stdin.isTTY)
      return editText("", env, out, (text) => file(text, place, config, out));
    const text = isTyped ? args.join(" ") : (await readUtf8(process.stdin)).replace(/\r?\n$/, "");
    return file(text, place, config, out);
  },
});

/** Errors: CONFIG_USAGE for an empty text, PROTOCOL_BAD_PARAMS if the tool refuses the text. */
async function file(
  content: string,
  { wing, room }: { wing: string; room: string },
  config: Config,
  out: Output,
): Promise<number> {
  if (content.trim() === "") throw wrongUsage("the note is empty; nothing was filed", 'palace add "what to remember"');
  const agent = config.agentName ?? "palace add";
  const args = { wing, room, content, added_by: agent };
  const write = { config, agent, name: "mempalace_add_drawer", args };
  const done = await writeOrSpool(write, "nothing was filed; see palace add --help");
  if (out.isJson) return out.document(done);
  const id = String(done["drawer_id"] ?? "");
  if (id !== "") out.text(id);
  if (done["spooled"] === true)
    out.hint(`no broker answers: kept on this machine for ${wing} / ${room}; to deliver it: palace start`);
  else if (done["reason"] === "already_exists") out.notice(`this note is in ${wing} / ${room} already`);
  else out.hint(`filed in ${wing} / ${room}; to see it: palace show ${shortId(id)}`);
  return 0;
}

async function wingHere(config: Config): Promise<string> {
  const project = await projectAround(process.cwd(), config.paths.cacheDir);
  return project === undefined || project.root === homedir() ? WING : project.wing;
}
