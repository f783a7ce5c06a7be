/** Writes and reads diaries: an agent's dated, append-only notes in its own wing (palace.md 2.10, 8.1). */
import type { Drawer, Metadata } from "../port/drawer.ts";
import type { LedgerReader, LedgerTx, WriteCall } from "../port/ledger.ts";
import { localDate, localStamp, localTimestamp, sha256Hex, slices, strip } from "../text/text.ts";
import { checked, clampLimit, InvalidValue, validContent, validName } from "../text/validate.ts";
import { insertSlices, type RowSize } from "./drawer.ts";
import { sliceId } from "./drawer-id.ts";

export function writeDiary(tx: LedgerTx, call: WriteCall, { drawerSize }: RowSize): unknown {
  const { params } = call;
  const read = checked(() => ({
    agent: validName(params["agent_name"], "agent_name").toLowerCase(),
    entry: validContent(params["entry"]),
    topic: validName(params["topic"] === undefined ? "general" : params["topic"], "topic"),
  }));
  if ("error" in read) return read;
  const { agent, entry, topic } = read;
  // For an invalid wing, throws an error that calls the field "name", as upstream does.
  const wing = blank(params["wing"]) ? `wing_${agent.replaceAll(" ", "_")}` : validName(params["wing"], "name");

  const parts = slices(entry, drawerSize);
  let atMicros = call.atMs * 1000;
  const entryId = (): string => `diary_${wing}_${localStamp(atMicros)}_${sha256Hex(entry).slice(0, 12)}`;
  // The clock counts milliseconds. Two equal entries in the same millisecond get different microseconds.
  while (tx.findDrawer(entryId()) ?? tx.findDrawer(sliceId(entryId(), 0))) atMicros += 1;
  const id = entryId();
  const timestamp = localTimestamp(atMicros);
  const metadata: Metadata = {
    wing,
    room: "diary",
    hall: "hall_diary",
    topic,
    type: "diary_entry",
    agent,
    filed_at: timestamp,
    date: localDate(atMicros),
    chunk_index: 0,
  };
  const chunkIds = insertSlices(tx, id, parts, metadata, ["parent_entry_id", "parent_drawer_id"]);
  return {
    success: true,
    entry_id: id,
    agent,
    topic,
    timestamp,
    chunks: parts.length,
    ...(chunkIds && { chunk_ids: chunkIds }),
  };
}

export function readDiary(reader: LedgerReader, params: Record<string, unknown>): unknown {
  let agent: string, wing: string | undefined;
  try {
    agent = validName(params["agent_name"], "agent_name").toLowerCase();
    wing = blank(params["wing"]) ? undefined : validName(params["wing"], "name");
  } catch (error) {
    if (error instanceof InvalidValue) return { error: error.message };
    throw error;
  }
  const entries = reader
    .diaryEntries(agent, wing)
    // The slices of one entry have the same time; their rows are in the order of the entry's text.
    .sort((a, b) => a.row - b.row)
    .map(toEntry)
    .sort((a, b) => (a.timestamp < b.timestamp ? 1 : a.timestamp > b.timestamp ? -1 : 0));
  if (entries.length === 0) return { agent, entries: [], message: "No diary entries yet." };
  const shown = entries.slice(0, clampLimit(params["last_n"], 10));
  return { agent, entries: shown, total: entries.length, showing: shown.length };
}

function toEntry({ text, metadata }: Drawer): { date: string; timestamp: string; topic: string; content: string } {
  const field = (key: string): string => String(metadata[key] ?? "");
  return { date: field("date"), timestamp: field("filed_at"), topic: field("topic"), content: text };
}

function blank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && strip(value) === "");
}
