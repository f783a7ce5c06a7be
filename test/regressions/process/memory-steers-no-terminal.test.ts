/** Filed text was printed to a terminal with its control characters, so a mined page could clear it or type for the user. */
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { hasTerminal, typeIn } from "../../helpers/terminal.ts";

const STEERING = "needle \u001B]0;title\u0007 \u001B[2J \u202E turned\r\nand a second line";

test.skipIf(!hasTerminal)("control characters in filed text reach a pipe but no terminal", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const filed = await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: STEERING });
  const { drawer_id: id } = filed as { drawer_id: string };
  client.close();
  for (const [executable, verb] of [
    ["mempalace", "search needle"],
    ["palace", `reveal ${id}`],
    ["palace", `show ${id}`],
    ["palace", "search needle"],
  ] as const) {
    const seen = typeIn(palace, verb, { executable, env: { TERM: "dumb" } }).screen;
    expect(seen).toContain("needle");
    expect(seen).toContain("and a second line");
    expect(seen.replaceAll(/\u0004|\^D/g, "")).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u202E]/);
  }
  expect((await palace.run("palace", ["reveal", id])).stdout).toBe(`${STEERING}\n`);
});
