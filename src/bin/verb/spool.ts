/** `palace status spool`: lists and delivers the writes that wait on this machine for a broker. */
import { connectClient } from "../../client/client.ts";
import { Spool } from "../../client/spool.ts";
import { EXIT_CODES, PalaceError } from "../../protocol/errors.ts";
import { formatDuration, type Output, shorten } from "../terminal/output.ts";
import { defineVerb } from "../verb.ts";

const USAGE = `palace status spool [list]
palace status spool replay

Agents keep their writes on this machine while they reach no broker, and deliver them in order and once when they do.
list shows waiting writes, and writes that a broker refused for good. replay delivers now, and starts a broker if one may run here.`;

const TOOL_COLUMNS = 32;

export const verb = defineVerb({
  usage: USAGE,
  options: {},
  args: [0, 1],
  run: async ({ args, config, out }) => {
    const spool = new Spool(config.paths.spoolDir);
    if (args[0] === undefined || args[0] === "list") {
      list(spool, out);
      return 0;
    }
    if (args[0] !== "replay")
      throw new PalaceError(
        "CONFIG_USAGE",
        `palace status spool ${args[0]} is not a command`,
        "palace status spool --help",
      );
    const before = spool.entries().length;
    const refusedBefore = new Set(spool.refused().map(({ name }) => name));
    // Connecting delivers the spool, before anything else that a client does.
    if (before > 0) (await connectClient({ config, agent: "palace spool", start: "auto" })).close();
    const waiting = spool.entries().length;
    const refused = spool.refused().filter(({ name }) => !refusedBefore.has(name)).length;
    const report = { delivered: Math.max(before - waiting - refused, 0), refused, waiting };
    if (out.isJson) out.document(report);
    else if (before === 0) out.text("Nothing waits.");
    else out.text(`${report.delivered} delivered, ${refused} refused, ${waiting} still waiting.`);
    if (waiting === 0) return 0;
    out.notice(
      out.spelled("what waits is delivered by the next client that can; palace doctor says what is in the way"),
    );
    return EXIT_CODES.STORE;
  },
});

function list(spool: Spool, out: Output): void {
  const waiting = spool.entries().map(({ name, atMs, agent, tool }) => ({ name, atMs, agent, tool }));
  const refused = spool.refused();
  const { droppedAtMs } = spool;
  if (out.isJson) return out.document({ folder: spool.folder, waiting, refused, droppedAtMs: droppedAtMs ?? null });
  if (waiting.length + refused.length === 0) return out.text("Nothing waits.");
  const age = (atMs: number): string => formatDuration(Math.max(Date.now() - atMs, 0));
  out.table([
    ...waiting.map(({ atMs, agent, tool }) => ["waits", age(atMs), shorten(tool, TOOL_COLUMNS), agent]),
    ...refused.map(({ atMs, tool, why }) => ["refused", age(atMs), shorten(tool, TOOL_COLUMNS), why]),
  ]);
  if (refused.length > 0)
    out.notice(
      `what was refused stays in ${spool.folder}/refused until you remove it; of very many the oldest are dropped`,
    );
  if (droppedAtMs !== undefined)
    out.notice(`older ones were dropped to make room, the last of them ${age(droppedAtMs)} ago`);
}
