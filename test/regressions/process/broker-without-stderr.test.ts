/** A foreground broker whose terminal was closed failed to log, logged that error, and so on for ever. */
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a broker continues after the reader of its log has ended", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_LOG_LEVEL: "debug" } });
  const broker = await palace.startBroker();
  broker.stderr?.destroy();
  const client = await palace.client();
  for (let index = 0; index < 20; index++) await client.call("palace.status", {});
  await expect(client.callTool("mempalace_no_such_tool", {})).rejects.toThrow("Unknown tool");
  const note = { wing: "w", room: "r", content: "still here" };
  expect(await client.callTool("mempalace_add_drawer", note)).toMatchObject({ success: true });
  expect(broker.exitCode).toBeNull();
  client.close();
});
