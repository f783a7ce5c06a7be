/** The log and the answer shorten a name that a peer sends, because it may have megabytes. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/spec.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const SIZE = 8 * 1024 * 1024;
const ANSWER_MAX = 20_000;

test.each([
  ["a tool name of 8 MiB", { name: "x".repeat(SIZE), arguments: {} }],
  ["a parameter name of 8 MiB", { name: "mempalace_status", arguments: { ["y".repeat(SIZE)]: 1 } }],
  [
    "50,000 parameters",
    {
      name: "mempalace_status",
      arguments: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`p${at}`, 1])),
    },
  ],
  ["a refused value of 8 MiB", { name: "mempalace_get_drawer", arguments: { drawer_id: "z".repeat(SIZE) } }],
])("%s is cut in the answer and in the log", async (_what, params) => {
  await using palace = createTestPalace({ env: { MEMPALACE_LOG_LEVEL: "debug" } });
  const broker = await palace.startBroker();
  let logged = 0;
  broker.stderr?.on("data", (text: string) => (logged += text.length));
  const client = await palace.client();
  try {
    const answer: unknown = await client
      .callTool(params.name, params.arguments as JsonObject)
      .catch((error: unknown) => ({
        message: (error as Error).message,
      }));
    expect(JSON.stringify(answer).length).toBeLessThan(ANSWER_MAX);
    await client.call("palace.status", {});
    expect(logged).toBeLessThan(5 * ANSWER_MAX);
  } finally {
    client.close();
  }
});

test("a method name of 8 MiB is cut in the answer", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  try {
    const error = await client.call("m".repeat(SIZE) as "palace.status", {}).catch((one: unknown) => one);
    expect((error as Error).message.length).toBeLessThan(ANSWER_MAX);
  } finally {
    client.close();
  }
});
