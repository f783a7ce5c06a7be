import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../helpers/free-port.ts";
import { addToken, doorOf, opened } from "../../helpers/outcome-http.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("`roampal start` opens the port of Roampal's API, and later brokers open the port too until the port is turned off", async () => {
  await using palace = createTestPalace();
  const port = await freePort();
  const start = ["start", "--port", `${port}`];
  const without = await palace.run("roampal", start);
  expect(without).toMatchObject({ code: 5, stderr: expect.stringContaining("there is no token yet") });
  expect(without.stderr).toContain("palace bridge token add");
  await addToken(palace, "program");
  await opened(palace, port);
  const { code, stdout, stderr } = await palace.run("roampal", start);
  expect(code, stderr).toBe(0);
  expect(stdout).toBe(`Roampal's API: http://127.0.0.1:${port}/api/health\n`);
  const instance = async (): Promise<string> => {
    const client = await palace.client();
    return client.call("palace.status", {}).then(({ instanceId }) => (client.close(), instanceId));
  };
  const first = await instance();
  expect(JSON.parse((await palace.run("roampal", ["start", "--json"])).stdout)).toEqual({
    ...{ port, isLocal: false, state: "open" },
  });
  expect(await instance(), "an open door stays open").toBe(first);
  // The restarted broker gets no setting for the door, and opens the door again.
  expect(await palace.run("palace", ["restart"])).toMatchObject({ code: 0 });
  await opened(palace, port);
  expect(await palace.run("palace", ["restart"], { env: { MEMPALACE_OUTCOME_PORT: "off" } })).toMatchObject({
    code: 0,
  });
  expect(await doorOf(palace)).toBeUndefined();
  expect(await palace.run("palace", ["restart"])).toMatchObject({ code: 0 });
  expect(await doorOf(palace)).toBeUndefined();
});

test("each verb of `roampal` runs a verb of `palace` with Roampal's options, and an unsupported verb names the command to type instead", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const run = (...args: string[]): ReturnType<typeof palace.run> => palace.run("roampal", args);
  const file = join(palace.home, "handbook.txt");
  writeFileSync(file, "Ovens are cleaned on Fridays. ".repeat(40));
  expect(
    await run("ingest", file, "--title", "Handbook", "--chunk-size", "200", "--chunk-overlap", "20"),
  ).toMatchObject({
    ...{ code: 0, stdout: "Handbook: 7 chunks\n" },
  });
  expect((await run("books")).stdout).toContain("Handbook");
  expect(JSON.parse((await run("stats", "--json")).stdout)).toMatchObject({ collections: { books: 7 } });
  expect(await run("remove", "Handbook")).toMatchObject({ code: 0 });
  expect((await run("status")).stdout).toContain("drawers");
  expect(await run("--version")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^roampal \(palace-devbox /) });
  expect((await run("help")).stdout).toContain("ingest");
  expect(await run("start", "--host", "0.0.0.0")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("MEMPALACE_LISTEN"),
  });
  expect(await run("profile", "list")).toMatchObject({ code: 2, stderr: expect.stringContaining("--palace DIR") });
  expect(await run("frobnicate")).toMatchObject({ code: 2, stderr: expect.stringContaining("roampal help") });
});

test("development mode has its own folder and port, whatever the environment variables name", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  await client.callTool("record_response", { key_takeaway: "of every day" });
  client.close();
  const { home, socketPath } = palace.config.paths;
  const env = { MEMPALACE_OUTCOME_PORT: "27182", MEMPALACE_BROKER: `unix:${socketPath}` };
  const working = async (args: string[], more: Record<string, string> = {}): Promise<unknown> => {
    const { stdout, stderr } = await palace.run("roampal", ["stats", "--json", ...args], { env: { ...env, ...more } });
    expect(stderr).toBe("");
    return (JSON.parse(stdout) as { collections: { working: number } }).collections.working;
  };
  expect(await working([])).toBe(1);
  const start = await palace.run("roampal", ["start", "--dev"], { env });
  // The development memory has no token yet, and the message names that memory.
  expect(start).toMatchObject({ code: 5, stderr: expect.stringContaining("port 27183") });
  expect(await working(["--dev"])).toBe(0);
  expect(await working([], { ROAMPAL_DEV: "Yes" })).toBe(0);
  expect(await working([], { ROAMPAL_DEV: "0" })).toBe(1);
  expect(existsSync(`${home}-dev/ledger.sqlite3`)).toBe(true);
  expect(await palace.run("roampal", ["stop", "--dev"], { env })).toMatchObject({ code: 0 });
});
