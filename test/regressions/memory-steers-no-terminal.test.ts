/**
 * `mempalace search` and `wake-up` wrote what was filed to the terminal as it is: a mined page could set its title, clear it, or
 * answer for the user. A program that reads the output is given every byte, as upstream gives it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { createTestPalace } from "../helpers/palace.ts";

const STEERING = "needle \u001B]0;title\u0007 \u001B[2J \u202E turned\r\nand a second line";

const canPretend = ((): boolean => {
  try {
    return execFileSync("script", ["-qec", "true", "/dev/null"]).length >= 0;
  } catch {
    return false;
  }
})();

test.skipIf(!canPretend)("what was filed does not steer a terminal, and is whole for a program", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: STEERING });
  client.close();
  const command = `'${process.execPath}' '${palace.executable("mempalace")}' search needle`;
  const seen = spawnSync("script", ["-qec", command, "/dev/null"], {
    env: { ...palace.env, TERM: "dumb" },
    encoding: "utf8",
    input: "",
    timeout: 60_000,
  }).stdout;
  expect(seen).toContain("needle");
  expect(seen).toContain("and a second line");
  expect(seen.replaceAll(/\u0004|\^D/g, "")).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u202E]/);
  const piped = await palace.run("mempalace", ["search", "needle"]);
  expect(piped.stdout).toMatch(/\u001B\]0;title/);
});
