/** `palace status spool` lists and delivers the writes that wait on this machine for a broker. */
import { connectClient } from "../../wire/client/client.ts";
import { parseMessage } from "../../wire/client/send-spooled.ts";
import { type RefusedEntry, Spool, type SpooledWrite, withNewKey } from "../../wire/client/spool.ts";
import { badValue, EXIT_CODES, wrongUsage } from "../../base/errors.ts";
import { readArguments } from "../tool-call.ts";
import { formatDuration, type Output, shorten } from "../terminal/output.ts";
import { readUtf8 } from "../terminal/utf8.ts";
import { defineVerb } from "../define-verb.ts";

const TOOL_COLUMNS = 32;
const ALL = "refused";

export const verb = defineVerb({
  usage: `palace status spool [list]
palace status spool replay
palace status spool show NAME
palace status spool replay NAME [ARGUMENTS]
palace status spool replay refused

Agents spool their writes on this machine while no broker answers, and deliver them in order, once, when one does.
list shows waiting writes, and writes that a broker refused permanently. replay delivers now, and starts a broker if one may run here.
show prints a refused write. replay NAME sends it again, with the JSON object ARGUMENTS if given
(- reads it from stdin); replay refused sends all of them again. The first letters of a NAME are enough.`,
  args: [0, 3],
  run: async ({ args: [what = "list", name, given], config, out }) => {
    const spool = new Spool(config.paths.spoolDir);
    assertUse(what, name, given);
    if (what === "show") show(spool, findRefused(spool, name ?? ""), out);
    else if (what === "list") list(spool, out);
    else {
      if (name !== undefined) {
        const text = given === "-" ? await readUtf8(process.stdin) : given;
        sendAgain(spool, name, text === undefined ? undefined : readArguments(text));
      }
      return replay(spool, out, async () =>
        // Connecting delivers the spool before the client does anything else.
        (await connectClient({ config, agent: "palace spool", start: "auto" })).close(),
      );
    }
    return 0;
  },
});

function assertUse(what: string, name: string | undefined, given: string | undefined): void {
  const help = "palace status spool --help";
  if (!["list", "replay", "show"].includes(what))
    throw wrongUsage(`palace status spool ${what} is not a command`, help);
  if (what === "list" && name !== undefined) throw wrongUsage("list takes no name", help);
  if (what === "show" && (name === undefined || given !== undefined))
    throw wrongUsage("show takes the name of one refused write", "palace status spool list");
  if (name === ALL && given !== undefined)
    throw wrongUsage("name the write that gets these arguments", "palace status spool list");
}

/** Errors: CONFIG_USAGE if no write or more than one write fits. */
function findRefused(spool: Spool, name: string): RefusedEntry {
  const found = spool.refused().filter((one) => one.name.startsWith(name));
  const exact = found.find((one) => one.name === name) ?? (found.length === 1 ? found[0] : undefined);
  if (exact !== undefined) return exact;
  const why = found.length === 0 ? "no refused write has" : `${found.length} refused writes have`;
  throw wrongUsage(`${why} the name ${name}`, "palace status spool list");
}

function show(spool: Spool, { name, atMs, why }: RefusedEntry, out: Output): void {
  const write = readRefused(spool, name);
  const shown = { name, at: new Date(atMs).toISOString(), agent: write.agent, tool: write.tool, why };
  if (out.isJson) return void out.document({ ...shown, arguments: argumentsOf(write) });
  out.table(Object.entries(shown));
  out.text(JSON.stringify(argumentsOf(write), null, 2));
}

/** Errors: CONFIG_BAD_VALUE for a file that is not a spooled write. */
function readRefused(spool: Spool, name: string): SpooledWrite {
  const write = spool.readRefused(name);
  if (write !== undefined && parseMessage(write.line).params !== undefined) return write;
  throw badValue(
    `${spool.folder}/refused/${name} is not a spooled write`,
    "read the file, and file its contents again by hand",
  );
}

function argumentsOf({ line }: SpooledWrite): unknown {
  const { method, params } = parseMessage(line);
  return method === "tools/call" ? (params?.["arguments"] ?? {}) : params;
}

function sendAgain(spool: Spool, name: string, args: object | undefined): void {
  if (name !== ALL) {
    const { name: found } = findRefused(spool, name);
    const write = readRefused(spool, found);
    return spool.sendAgain(found, args === undefined ? write : withArguments(write, args));
  }
  for (const { name: one } of spool.refused()) {
    const write = spool.readRefused(one);
    if (write !== undefined) spool.sendAgain(one, write);
  }
}

/** Returns the write with a new idempotency key, because the broker refuses a known key with other arguments. */
function withArguments(write: SpooledWrite, args: object): SpooledWrite {
  const { params, ...message } = parseMessage(write.line);
  if (message.method !== "tools/call")
    throw wrongUsage(`${write.tool} takes no other arguments`, "palace status spool replay NAME");
  const line = JSON.stringify({ ...message, params: { ...params, arguments: args } });
  return withNewKey({ ...write, line });
}

async function replay(spool: Spool, out: Output, connect: () => Promise<void>): Promise<number> {
  const before = spool.entries().length;
  const refusedBefore = new Set(spool.refused().map(({ name }) => name));
  if (before > 0) await connect();
  const waiting = spool.entries().length;
  const refused = spool.refused().filter(({ name }) => !refusedBefore.has(name)).length;
  const report = { delivered: Math.max(before - waiting - refused, 0), refused, waiting };
  const done = `${report.delivered} delivered, ${refused} refused, ${waiting} still waiting.`;
  out.answer(report, before === 0 ? "Nothing waits." : done);
  if (refused > 0) out.hint("palace status spool list says why; show NAME prints what was refused");
  if (waiting > 0)
    out.hint("the next client that reaches a broker delivers the waiting writes; palace doctor says what blocks them");
  return waiting > 0 || refused > 0 ? EXIT_CODES.STORE : 0;
}

function list(spool: Spool, out: Output): void {
  // Called for its effect: it sets aside the files that cannot be sent, so that the report counts them as refused.
  spool.entries();
  const report = spool.report();
  const { waiting, refused, droppedAtMs } = report;
  if (out.isJson) return void out.document(report);
  if (waiting.length + refused.length === 0) return out.text("Nothing waits.");
  const age = (atMs: number): string => formatDuration(Math.max(Date.now() - atMs, 0));
  out.table([
    ...waiting.map(({ atMs, agent, tool }) => ["waits", age(atMs), shorten(tool, TOOL_COLUMNS), agent]),
    ...refused.map(({ name, atMs, tool, why }) => ["refused", age(atMs), shorten(tool, TOOL_COLUMNS), name, why]),
  ]);
  if (refused.length > 0)
    out.hint(
      `send a refused write again: palace status spool replay NAME; all of them: palace status spool replay refused`,
    );
  if (refused.length > 0)
    out.notice(
      `refused writes stay in ${spool.folder}/refused until you remove them; if there are very many, the oldest are deleted`,
    );
  if (droppedAtMs !== null)
    out.notice(`older ones were dropped to make room, the last of them ${age(droppedAtMs)} ago`);
}
