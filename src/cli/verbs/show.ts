/** `palace show ID` prints one memory and its source. */
import { PalaceError } from "../../base/errors.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import { shownSource } from "../../feeders/came-from.ts";
import { findDrawer, shortId, type ShownDrawer, wholeId } from "../terminal/drawer.ts";
import { printable } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace show ID [--unmask]

Prints a drawer's text as it was filed; on a terminal also its place, its source, who filed it and when.
ID is a drawer's id, its beginning, or the short id that \`palace search\` and \`palace ls\` print.

  --unmask   print secrets too, which are otherwise masked as [redacted: KIND]. For the owner of the palace; the broker
             logs who read which drawer.`,
  options: options("unmask"),
  args: [1, 1],
  forOwner: true,
  run: async ({ values, args: [given = ""], config, connect, out }) => {
    const client = await connect(config.agentName ?? "palace show");
    const masked = await findDrawer(client, given);
    const { drawer_id: id } = masked;
    const shown = values.unmask === true ? { ...masked, ...(await unmask(id)) } : masked;
    if (out.isJson) return out.document(shown);
    const source = masked.source_path === "" ? "" : shownSource(config, masked.source_path);
    if (out.isTerminal) out.text(`${aboutOf(masked, source).join("\n")}\n`);
    const text = String(shown.content);
    out.text(text);
    if (values.unmask !== true && text.includes("[redacted: "))
      out.hint(`a secret in it is masked; the owner sees it with: palace show ${shortId(id)} --unmask`);
    return 0;

    async function unmask(id: string): Promise<JsonObject> {
      const answer = await client.call("drawer.reveal", { id });
      if (answer.found) return answer.drawer;
      throw new PalaceError("PROTOCOL_BAD_PARAMS", `the drawer ${id} was deleted just now`, "palace ls");
    }
  },
});

/** The old name of `show --unmask`: prints only the text. */
export const reveal = defineVerb({
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

function aboutOf({ drawer_id: id, wing, room, metadata }: ShownDrawer, source: string): string[] {
  const { filed_at: filedAt, last_modified: changedAt, added_by: by, agent } = metadata;
  const when = timeOf(filedAt);
  const changed = timeOf(changedAt);
  const who = typeof by === "string" ? by : typeof agent === "string" ? agent : "";
  return [
    id,
    `${wing} / ${room}`,
    [when === "" ? "" : `filed ${when}`, who === "" ? "" : `by ${who}`, source === "" ? "" : `from ${source}`]
      .filter((part) => part !== "")
      .join(" "),
    changed === "" || changed === when ? "" : `changed ${changed}`,
  ]
    .filter((line) => line !== "")
    .map(printable);
}

/** Formats a time to the second; upstream's timestamps are local time. */
function timeOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 19).replace("T", " ") : "";
}
