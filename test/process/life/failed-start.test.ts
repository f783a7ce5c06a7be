import { once } from "node:events";
import { readdirSync, renameSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

let taken: Server;
let address: string;
beforeEach(async () => {
  taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  address = `127.0.0.1:${(taken.address() as { port: number }).port}`;
});
afterEach(() => taken.close());

test("each client reports a door that cannot be opened, together with the fix", async () => {
  await using palace = createTestPalace();
  const bad = { env: { MEMPALACE_LISTEN: `tcp://${address}` } };
  const why = `MEMPALACE_LISTEN: the broker cannot listen on ${address} (EADDRINUSE)\n  choose another port, or end what listens there\n`;
  for (const [bin, args] of [
    ["palace", ["start"]],
    ["palace", ["ls"]],
    ["mempalace-broker", ["--ensure"]],
  ] as const) {
    const failed = await palace.run(bin, [...args], bad);
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
  }
  const mended = await palace.run("palace", ["ls"]);
  expect(mended.code, mended.stderr).toBe(0);
});

test("an agent gets the reason of a failed start, and the next agent gets an answer after the fix", async () => {
  await using palace = createTestPalace();
  const env = { MEMPALACE_LISTEN: `tcp://${address}` };
  await expect(palace.shim(env)).rejects.toThrow(
    `MEMPALACE_LISTEN: the broker cannot listen on ${address} (EADDRINUSE)`,
  );
  taken.close();
  const shim = await palace.shim(env);
  expect(await shim.request("tools/list", {})).toMatchObject({ tools: expect.anything() });
  await shim.close();
});

test("an invalid MEMPALACE_LISTEN is refused at once, before a broker starts", async () => {
  await using palace = createTestPalace();
  const failed = await palace.run("palace", ["start"], { env: { MEMPALACE_LISTEN: "nonsense" } });
  expect(failed).toMatchObject({
    code: 2,
    stderr:
      "palace: MEMPALACE_LISTEN=nonsense is not an address to listen on\n  export MEMPALACE_LISTEN=tcp://127.0.0.1:7780\n",
  });
  expect(palace.log()).toBe("");
});

test("`palace start --new` starts in spite of an earlier failed start", async () => {
  await using palace = createTestPalace();
  const { home, stateDir } = palace.config.paths;
  await palace.run("palace", ["start"]);
  await palace.run("palace", ["stop"]);
  const failed = await palace.run("palace", ["start"], { env: { MEMPALACE_LISTEN: `tcp://${address}` } });
  expect(failed.stderr).toContain("EADDRINUSE");
  expect(readdirSync(stateDir).filter((name) => name.endsWith(".failed"))).toHaveLength(1);
  renameSync(home, join(palace.home, "moved-away"));
  const begun = await palace.run("palace", ["start", "--new"]);
  expect(begun, palace.log()).toMatchObject({ code: 0, stderr: "" });
});
