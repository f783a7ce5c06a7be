import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const PASSWORD = "hunter2-and-a-half";
const address = (scheme: string, port = 1): string => `${scheme}://ada:${PASSWORD}@127.0.0.1:${port}/v1`;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
}

test.each([
  ["judge", { MEMPALACE_JUDGE_URL: address("http"), MEMPALACE_JUDGE_MODEL: "m", MEMPALACE_OUTCOMES: "on" }],
  ["judge (in an invalid address)", { MEMPALACE_JUDGE_URL: `ftp://ada:${PASSWORD}@h`, MEMPALACE_JUDGE_MODEL: "m" }],
  ["model", { MEMPALACE_MODEL_URL: address("http"), MEMPALACE_OFFLINE: "0" }],
  ["Chroma", { MEMPALACE_CHROMA_URL: address("http"), MEMPALACE_DRIVER: "chroma" }],
  ["broker", { MEMPALACE_BROKER: address("http") }],
  ["broker (in an invalid address)", { MEMPALACE_BROKER: `tls://ada:${PASSWORD}@h` }],
  ["bridge", { MEMPALACE_BROKER: `ssh://ada:${PASSWORD}@h` }],
  ["judge (in place of the user)", { MEMPALACE_JUDGE_URL: `http://${PASSWORD}@h` }],
])("the password of a %s is in no output and in no file", async (_whose, env) => {
  await using palace = createTestPalace({ env });
  const note = JSON.stringify({ wing: "w", room: "r", content: "The heron stands in the reeds." });
  const said = [];
  for (const args of [
    ["call", "add_drawer", note],
    ["start"],
    ["status"],
    ["doctor", "--json"],
    ["config", "list"],
    ["logs"],
    ["search", "heron"],
  ]) {
    const { stdout, stderr } = await palace.run("palace", args);
    said.push(`${args.join(" ")}: ${stdout}${stderr}`);
  }
  await palace.run("palace", ["stop"]);
  expect(said.filter((text) => text.includes(PASSWORD))).toEqual([]);
  expect(filesBelow(palace.home).filter((file) => readFileSync(file).includes(PASSWORD))).toEqual([]);
});

test("no command shows a password from the settings file", async () => {
  await using palace = createTestPalace();
  const said = [];
  for (const url of [address("http"), `http://ada:a/${PASSWORD}@h`, `http://${PASSWORD}@h`])
    for (const args of [
      ["config", "set", "chroma-url", url],
      ["config", "list"],
      ["config", "get", "chroma-url"],
      ["doctor"],
    ]) {
      const { stdout, stderr } = await palace.run("palace", args);
      said.push(`${args.slice(0, 3).join(" ")}: ${stdout}${stderr}`);
    }
  expect(said.filter((text) => text.includes(PASSWORD))).toEqual([]);
});
