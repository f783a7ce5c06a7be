/** The tool `mine` makes its answer from the document that the miner printed. */
import { expect, test } from "vitest";
import { finished } from "../../../src/broker/mine/answer.ts";
import { type MineRequest, readRequest } from "../../../src/broker/mine/request.ts";

const request = readRequest({ source: "/x" }) as MineRequest;

test("the answer to a mine has 0 for each number that the miner did not report", () => {
  const end = { code: 0, signal: null, stdout: '{"wing":"w"}', stderr: "", ended: undefined };
  expect(finished(request, end, [])).toMatchObject({
    ...{ success: true, status: "done", wing: "w" },
    ...{ files: 0, filed: 0, unchanged: 0, drawers: 0, skipped: 0 },
  });
});
