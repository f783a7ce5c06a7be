import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { Backlog } from "../../../../../src/memory/index/embedding/backlog.ts";
import { SILENT_LOG } from "../../../../../src/base/log.ts";
import type { PendingText } from "../../../../../src/memory/port/ledger.ts";
import { noChanges } from "../../../../../src/memory/ledger/tables/tables.ts";

const TEXTS = 100;
const PAGE_MS = 20;
const AT_ONCE = {
  identity: { id: "listed", dimensions: 1 },
  embed: (texts: string[]) => Promise.resolve(texts.map(() => new Float32Array(1))),
} as unknown as ConstructorParameters<typeof Backlog>[0]["embedder"];

it("the backlog's expected time is computed from the embedded texts, and is unknown before the first text", async () => {
  let waiting: PendingText[] = [];
  const backlog = new Backlog({
    embedder: {
      identity: { id: "slow", dimensions: 1 },
      embed: async (texts) => {
        await delay(PAGE_MS);
        return texts.map(() => new Float32Array(1));
      },
    } as ConstructorParameters<typeof Backlog>[0]["embedder"],
    pending: (afterRow, limit) => waiting.filter(({ row }) => row > afterRow).slice(0, limit),
    file: (vectors) => {
      const filed = new Set(vectors.map(({ row }) => row));
      waiting = waiting.filter(({ row }) => !filed.has(row));
      return Promise.resolve(noChanges());
    },
    onFiled: () => Promise.resolve(),
    log: SILENT_LOG,
  });
  await backlog.settled(60_000);
  expect(backlog.expectedMs(TEXTS)).toBeNull();
  waiting = Array.from({ length: TEXTS }, (_, at) => ({ row: at + 1, textVersion: 1, text: `${at}` }));
  await backlog.settled(60_000);
  expect(waiting).toEqual([]);
  expect(backlog.expectedMs(0)).toBe(0);
  const hundred = backlog.expectedMs(TEXTS) ?? 0;
  expect(hundred).toBeGreaterThan(PAGE_MS);
  expect((backlog.expectedMs(100 * TEXTS) ?? 0) / hundred).toBeCloseTo(100, -1);
  await backlog.stop();
});

it("the backlog embeds notes before a long list of mined texts, the newest notes first, and a new note before the rest of the list", async () => {
  const mined = Array.from({ length: 200 }, (_, at) => ({ row: at + 1, textVersion: 1, text: "mined" }));
  const note = (row: number): PendingText => ({ row, textVersion: 1, text: "note" });
  let waiting = [...mined, ...Array.from({ length: 40 }, (_, at) => note(201 + at))];
  const order: number[][] = [];
  const backlog = new Backlog({
    embedder: AT_ONCE,
    pending: (afterRow, limit) => waiting.filter(({ row }) => row > afterRow).slice(0, limit),
    notes: (limit) =>
      waiting
        .filter(({ text }) => text === "note")
        .toReversed()
        .slice(0, limit),
    file: (vectors) => {
      const filed = new Set(vectors.map(({ row }) => row));
      waiting = waiting.filter(({ row }) => !filed.has(row));
      if (order.push([...filed]) === 4 && waiting.length > 0) waiting = [...waiting, note(300)];
      return Promise.resolve(noChanges());
    },
    onFiled: () => Promise.resolve(),
    log: SILENT_LOG,
  });
  await backlog.settled(60_000);
  await backlog.stop();
  const rows = order.flat();
  const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, at) => first + at);
  expect(rows.slice(0, 40)).toEqual([...from(225, 16), ...from(209, 16), ...from(201, 8)]);
  expect(rows.toSorted((a, b) => a - b)).toEqual([...from(1, 240), 300]);
  expect(rows.indexOf(300)).toBeLessThan(rows.indexOf(200));
});

it("if mined texts and notes fit one page, the backlog embeds them in the order in which they were written", async () => {
  const order: number[] = [];
  let waiting: PendingText[] = Array.from({ length: 9 }, (_, at) => ({ row: at + 1, textVersion: 1, text: `${at}` }));
  const backlog = new Backlog({
    embedder: AT_ONCE,
    pending: (afterRow, limit) => waiting.filter(({ row }) => row > afterRow).slice(0, limit),
    notes: () => waiting.filter(({ row }) => row > 4),
    file: (vectors) => {
      order.push(...vectors.map(({ row }) => row));
      waiting = [];
      return Promise.resolve(noChanges());
    },
    onFiled: () => Promise.resolve(),
    log: SILENT_LOG,
  });
  await backlog.settled(60_000);
  await backlog.stop();
  expect(order).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
