/** After the answer `n` to "Erase …?" the command printed no message, so a user could not know whether it had erased a text. */
import { execa } from "execa";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 60_000;
/** Makes the program's pipes look like terminals, because it asks the question only on a terminal. */
const TERMINAL = "data:text/javascript,process.stdin.isTTY = process.stderr.isTTY = true";

test("forget and undo say that they changed nothing after the answer `n`", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
  await palace.startBroker();
  const shim = await palace.shim();
  const added = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "the wombat stays" });
  await shim[Symbol.asyncDispose]();
  const ask = (...args: string[]): Promise<{ exitCode?: number; stderr: string }> =>
    execa(process.execPath, ["--import", TERMINAL, palace.executable("palace"), ...args], {
      ...{ env: palace.env, extendEnv: false, input: "n\n", reject: false },
    });
  for (const args of [
    ["forget", String(added["drawer_id"])],
    ["undo", "--client", "test", "--since", "1h"],
  ]) {
    if (args[0] === "undo") {
      const client = await palace.client();
      await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "another one" });
      client.close();
    }
    const answered = await ask(...args);
    expect(answered).toMatchObject({ exitCode: 0 });
    expect(answered.stderr).toMatch(/\[y\/N\][^]*Nothing was changed\.$/);
  }
  expect((await palace.run("palace", ["search", "wombat"])).stdout).toContain("the wombat stays");
});
