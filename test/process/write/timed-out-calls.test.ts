import { once } from "node:events";
import { expect, test } from "vitest";
import type { Client } from "../../../src/wire/client/client.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const LATE = { code: "TRANSPORT_TIMEOUT", retryable: true };

function note(client: Client, options: { key?: string; timeoutMs?: number } = {}): Promise<unknown> {
  return client.callTool("mempalace_diary_write", { agent_name: "ada", entry: "the ferns are watered" }, options);
}

async function notes(client: Client): Promise<unknown> {
  return ((await client.callTool("mempalace_diary_read", { agent_name: "ada" })) as { total: number }).total;
}

test("a call that timed out is not sent to the next broker, so a repeated call is done once", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  const client = await palace.client();
  await note(client);
  broker.kill("SIGSTOP");
  await expect(note(client, { timeoutMs: 300 })).rejects.toMatchObject(LATE);
  broker.kill("SIGKILL");
  await once(broker, "exit");
  await note(client);
  expect(await notes(client)).toBe(2);
  client.close();
});

test("a call that timed out and is repeated with its key is done once, although the broker reads both calls", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  const client = await palace.client();
  await note(client);
  broker.kill("SIGSTOP");
  await expect(note(client, { timeoutMs: 300, key: "once" })).rejects.toMatchObject(LATE);
  const repeated = note(client, { key: "once" });
  broker.kill("SIGCONT");
  await repeated;
  expect(await notes(client)).toBe(2);
  client.close();
});
