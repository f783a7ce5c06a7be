/** Unusual HTTP requests to /mcp were answered with 500, or checked less strictly than on the stream. Found by fuzzing. */
import { request } from "node:http";
import { expect, test } from "vitest";
import { FRAME_SIZE_MAX_BYTES } from "../../../src/protocol/limits.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
const nested = `${ping.slice(0, -1)},"params":${"[".repeat(2000)}${"]".repeat(2000)}}`;
const long = `${ping.slice(0, -1)},"params":{"x":"${"x".repeat(5 * 1024 * 1024)}"}}`;

type Odd = { method?: string; host?: string; body?: string | Buffer };

test("an unusual request to /mcp is answered or refused, but never with status 500", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const ask = ({ method = "POST", host = "localhost", body = ping }: Odd): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const { socketPath } = palace.config.paths;
      const call = request({ socketPath, path: "/mcp", method, headers: { ...HEADERS, host } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      });
      // An answer may come before the whole request is sent.
      call.on("error", reject).end(method === "TRACE" ? undefined : body);
    });

  expect((await ask({ host: "a b:c" })).status, "a host name that makes no URL").toBe(200);
  expect((await ask({ method: "TRACE" })).status, "a method that no request object takes").toBe(405);
  expect((await ask({ body: long })).status, "five of the sixteen MiB that a message may have").toBe(200);
  for (const [body, status] of [
    [nested, 400],
    [Buffer.from([0x22, 0xff, 0x22]), 400],
    ["x".repeat(FRAME_SIZE_MAX_BYTES + 1), 413],
  ] as const) {
    const answer = await ask({ body });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toMatchObject({ id: null, error: { data: { retryable: false } } });
  }
});
