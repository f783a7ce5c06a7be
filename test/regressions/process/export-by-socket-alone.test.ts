/** An export names the program to run as Chroma, so an admin's token let another machine run any program on the broker's machine. */
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("the broker refuses an export over TCP even to an admin, and runs no program", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  const added = await palace.run("palace", ["token", "add", "far", "--role", "admin", "--json"]);
  const { token } = JSON.parse(added.stdout) as { token: string };
  const env = {
    HOME: `${palace.home}/elsewhere`,
    MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
    MEMPALACE_TOKEN: token,
  };
  const client = await connectClient({ config: loadConfig(env), agent: "far", start: "never" });
  const program = `${palace.home}/program`;
  writeFileSync(program, `#!/bin/sh\n: > ${palace.home}/was-run\n`, { mode: 0o755 });
  const request = { kind: "export", dir: `${palace.home}/out`, chroma: program, partial: true } as const;
  await expect(client.call("job.start", request)).rejects.toMatchObject({ code: "BROKER_DENIED" });
  // An admin may use other administrative commands over TCP.
  expect(await client.call("job.start", { kind: "migrate", dryRun: true })).toMatchObject({ kind: "migrate" });
  client.close();
  await delay(500);
  expect(existsSync(`${palace.home}/was-run`)).toBe(false);
});
