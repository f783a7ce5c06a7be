/** `palace rm ID...` deletes drawers, which `palace history undo` can restore. */
import type { JsonObject } from "../../protocol/spec.ts";
import { confirm } from "../terminal/confirm.ts";
import { findDrawer, shortId, type ShownDrawer, titleOf, undoCommand } from "../terminal/drawer.ts";
import { plural } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";

const TITLE_COLUMNS = 70;
const EXIT_PARTIAL = 8;

export const verb = defineVerb({
  usage: `palace rm ID... [--dry-run] [--yes]

Deletes drawers after asking, and prints the command that undoes this. ID is a drawer's id, its beginning, or its short id.
The text stays in the journal and in backups; \`palace forget ID\` erases it everywhere.

  --dry-run   say what would be deleted
  --yes       do not ask`,
  options: options("dry-run yes|y"),
  args: [1, Infinity],
  run: async ({ values, args, config, connect, out }) => {
    const agent = config.agentName ?? "palace rm";
    const client = await connect(agent);
    const found = new Map<string, ShownDrawer>();
    for (const id of args) {
      const drawer = await findDrawer(client, id);
      found.set(drawer.drawer_id, drawer);
    }
    const drawers = [...found.values()];
    const ids = [...found.keys()];
    if (!out.isJson)
      out.table(
        drawers.map(({ drawer_id: id, wing, room, content = "" }) => [
          ...[shortId(id), `${wing}/${room}`, titleOf(content, TITLE_COLUMNS)],
        ]),
      );
    if (values["dry-run"] === true)
      return out.answer({ would_delete: ids }, `Would delete ${plural(ids.length, "drawer")}.`);
    if (!(await confirm(`Delete ${plural(ids.length, "drawer")}?`, values.yes))) return 0;
    const sinceMs = Date.now();
    const deleted: string[] = [];
    for (const id of ids) {
      const done = (await client.callTool("mempalace_delete_drawer", { drawer_id: id })) as JsonObject;
      if (done["success"] === true) deleted.push(id);
      else out.notice(`${id} was not deleted: ${String(done["error"])}`);
    }
    const undo = undoCommand(agent, sinceMs);
    out.answer({ deleted, undo: out.spelled(undo) }, () => {
      out.text(`Deleted ${plural(deleted.length, "drawer")}.`);
      if (deleted.length > 0) out.hint(`to undo this: ${undo}`);
    });
    return deleted.length === ids.length ? 0 : EXIT_PARTIAL;
  },
});
