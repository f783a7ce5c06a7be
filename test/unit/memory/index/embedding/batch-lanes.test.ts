import { expect, test } from "vitest";
import { BATCH_MAX, BATCH_YIELDING, BatchLanes } from "../../../../../src/memory/index/embedding/batch-lanes.ts";
import { cutTokens } from "../../../../../src/memory/index/embedding/tokenizer.ts";

const lengths = (lanes: BatchLanes<string>, yielding = false): number[][] => {
  const batches: number[][] = [];
  for (let batch = lanes.next(yielding); batch !== undefined; batch = lanes.next(yielding)) {
    const { job, indexes } = batch;
    batches.push(indexes.map((index) => job.items[index]?.length ?? -1));
  }
  return batches;
};

test("a job becomes batches of texts of similar length, each within the maximum size, with every text once", () => {
  const lanes = new BatchLanes<string>((text) => text.length);
  lanes.add({ lane: "backlog", items: Array.from({ length: 19 }, (_, at) => "x".repeat((at * 7) % 19)) });
  const batches = lengths(lanes);
  expect(batches.map((batch) => batch.length)).toEqual([BATCH_MAX, BATCH_MAX, 3]);
  expect(batches.flat()).toEqual(Array.from({ length: 19 }, (_, at) => at));
});

test("queries are embedded before the backlog, and both are embedded in the order of arrival", () => {
  const lanes = new BatchLanes<string>((text) => text.length);
  lanes.add({ lane: "backlog", items: ["1"] });
  lanes.add({ lane: "backlog", items: ["22"] });
  lanes.add({ lane: "query", items: ["333"] });
  lanes.add({ lane: "query", items: ["4444"] });
  expect(lengths(lanes).flat()).toEqual([3, 4, 1, 2]);
});

test("during searches the backlog continues one text at a time and still embeds every text once", () => {
  const lanes = new BatchLanes<string>((text) => text.length);
  lanes.add({ lane: "backlog", items: Array.from({ length: 10 }, (_, at) => "x".repeat(at)) });
  expect(lanes.next(true)?.indexes).toHaveLength(BATCH_YIELDING);
  lanes.add({ lane: "query", items: ["q".repeat(50), "q".repeat(51)] });
  expect(lengths(lanes, true)).toEqual([[50, 51], ...Array.from({ length: 9 }, (_, at) => [at + 1])]);
});

test("truncation keeps the first tokens and the final separator", () => {
  expect(cutTokens([101, 1, 2, 102], 4)).toEqual([101, 1, 2, 102]);
  expect(cutTokens([101, 1, 2, 3, 102], 4)).toEqual([101, 1, 2, 102]);
});
