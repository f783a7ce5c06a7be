import { mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolsOf } from "../../../src/protocol/tools/profile.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const LIGHT = toolsOf("light").map(({ name }) => name);
const FULL = toolsOf("full").map(({ name }) => name);

const names = (result: unknown): string[] => (result as { tools: { name: string }[] }).tools.map(({ name }) => name);

test("two agents on one broker get different tool lists, and an agent can call a tool that its list omits", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using light = await palace.shim({ MEMPALACE_TOOLS: "light" });
  await using full = await palace.shim();
  expect(names(await light.request("tools/list", {}))).toEqual(LIGHT);
  expect(names(await full.request("tools/list", {}))).toEqual(FULL);
  await light.call("mempalace_add_drawer", { wing: "w", room: "r", content: "told of by few tools" });
  expect(LIGHT).not.toContain("mempalace_list_drawers");
  expect(await light.call("mempalace_list_drawers", { limit: 1 })).toMatchObject({ total: 1 });
});

test("without a broker the shim lists the tools of the profile that the variable or the settings file names", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_BROKER: "unix:/nowhere/palace.sock" } });
  await using light = await palace.shim({ MEMPALACE_TOOLS: "light" });
  expect(names(await light.request("tools/list", {}))).toEqual(LIGHT);
  mkdirSync(palace.config.paths.home);
  writeFileSync(join(palace.config.paths.home, "settings.json"), `{ "tools": "light" } // for every agent`);
  await using set = await palace.shim();
  expect(names(await set.request("tools/list", {}))).toEqual(LIGHT);
  await using full = await palace.shim({ MEMPALACE_TOOLS: "full" });
  expect(names(await full.request("tools/list", {}))).toEqual(FULL);
});

test("the HTTP address names the tool profile, and an unknown profile lists all tools", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  expect(await listOverHttp(palace, "/mcp?tools=light")).toEqual(LIGHT);
  expect(await listOverHttp(palace, "/mcp?tools=tiny")).toEqual(FULL);
  expect(await listOverHttp(palace, "/mcp")).toEqual(FULL);
});

test("palace refuses an unknown value of MEMPALACE_TOOLS and lists the known values", async () => {
  await using palace = createTestPalace();
  const { code, stderr } = await palace.run("palace", ["tools"], { env: { MEMPALACE_TOOLS: "tiny" } });
  expect(code).toBe(2);
  expect(stderr).toContain("MEMPALACE_TOOLS=tiny is not one of full, light");
});

async function listOverHttp(palace: TestPalace, path: string): Promise<string[]> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
  };
  const text = await new Promise<string>((resolve, reject) => {
    const options = { socketPath: palace.config.paths.socketPath, method: "POST", path, headers };
    const asked = request(options, (response) => {
      let answer = "";
      response.setEncoding("utf8").on("data", (part: string) => (answer += part));
      response.on("end", () => resolve(answer));
    });
    asked.on("error", reject).end(body);
  });
  const json = /\{.*\}/s.exec(text)?.[0] ?? "";
  return names((JSON.parse(json) as { result: unknown }).result);
}
