/** Tests time windows, which select by the time when a text was said, or by the filing time if that time is unknown. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";
import { validWindow } from "../../../src/memory/text/window.ts";
import { createSearchPalace } from "../../helpers/search-palace.ts";

type Write = (method: string, params: Record<string, unknown>) => unknown;

const TALK = { wing: "talk", room: "r", sourceFile: "/talks/a.jsonl", mtime: 1, sha256: "s", addedBy: "m", from: 0 };

/** Files an exchange about a harbour for each time. `null` is an unknown time. */
function fileTalk(write: Write, times: readonly (string | null)[]): void {
  const texts = times.map((_, at) => `> What of harbour number${at}?\nThe harbour number${at} is deep.`);
  write("conversation.replace", { ...TALK, total: texts.length, texts, authoredAts: times });
}

test("a search in a window finds texts that were said then, however late they were filed, and notes by their filing time", async () => {
  await using palace = await createSearchPalace();
  fileTalk((...call) => palace.write(...call), ["2024-05-01T09:00:00.000Z", "2024-05-09T09:00:00Z", null]);
  const message = { sessionId: "s", uuid: "u", timestamp: "2024-05-03T10:00:00Z", role: "user", content: "harbour" };
  palace.write("message.add", { sourceFile: "/talks/b.jsonl", messages: [message] });
  const commit = { wing: "git", room: "r", sourceFile: "git:1", mtime: 1, sha256: "s", addedBy: "m" };
  const dated = { content: "The harbour gets lights.", authoredAt: "2024-05-04T01:00:00+02:00" };
  palace.write("source.replace", { ...commit, ...dated, cut: { size: 1000, overlap: 0, sizeMin: 0 } });
  palace.file("A note on the harbour.");
  const found = async (window: object): Promise<string[]> =>
    (await palace.texts("harbour", { limit: 20, ...window })).map(
      (text) => /number\d|USER|lights|note/.exec(text)?.[0] ?? "",
    );
  expect((await found({ since: "2024-05-01", before: "2024-05-05" })).sort()).toEqual(["USER", "lights", "number0"]);
  expect(await found({ since: "2024-05-03T22:59Z", before: "2024-05-03T23:01Z" })).toEqual(["lights"]);
  expect(await found({ since: "2024-05-09", before: "2024-05-10" })).toEqual(["number1"]);
  expect((await found({ since: "2024-06-01" })).sort()).toEqual(["note", "number2"]);
});

test.each(["UTC", "America/New_York", "Asia/Tokyo"])(
  "a list in the time zone %s reads bounds as local time, and reads authored times with any offset as exact moments",
  (zone) => {
    vi.stubEnv("TZ", zone);
    const folder = mkdtempSync(join(tmpdir(), "ledger-"));
    const writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
    const reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
    onTestFinished(() => {
      vi.unstubAllEnvs();
      reader.close();
      writer.close();
      rmSync(folder, { recursive: true });
    });
    const write: Write = (method, params) => {
      const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
      const call = { isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
      expect(writer.commit([{ ...call, key: JSON.stringify(params) }]).outcomes[0]?.outcome.ok).toBe(true);
    };
    const local = new Date(2024, 4, 9, 12).toISOString();
    fileTalk(write, ["2024-05-01T09:00:00.250Z", "2024-05-01T18:00:00+09:00", "2024-05-01", "May 1", local]);
    const listed = (since?: string, before?: string): (number | undefined)[] => {
      const window = validWindow({ since, before });
      const rows = reader.listDrawers({ ...window, wing: "talk" }, 9, 0);
      expect(
        reader
          .listLogical(window, 9, 0)
          .drawers.map(({ rows: [{ row }] }) => row)
          .sort(),
      ).toEqual(rows.drawers.map(({ row }) => row));
      return rows.drawers.map(({ metadata }) => metadata["chunk_index"] as number);
    };
    expect(listed("2024-05-01T09:00:00Z", "2024-05-01T09:00:00.250Z")).toEqual([1]);
    expect(listed("2024-05-01T09:00:00.250Z", "2024-05-01T09:00:01Z")).toEqual([0]);
    expect(listed("2024-05-01", "2024-05-01T00:00:01")).toEqual([2]);
    expect(listed("2024-05-09T12:00", "2024-05-09T12:01")).toEqual([4]);
    // "May 1" is not ISO 8601, so the filing time counts.
    expect(listed("2025-01-01")).toEqual([3]);
    expect(listed(undefined, "2000-01-01")).toEqual([]);
  },
);
