import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, mempalaceMissing, startPythonChroma } from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: a switch of the driver (${missing})`);

/** Starts a broker with `env`, calls `work` once the public palace is up to date, and then stops the broker. */
async function during(palace: TestPalace, env: Record<string, string>, work: () => Promise<void>): Promise<void> {
  await palace.startBroker(env);
  await inStep(palace);
  await work();
  await inStep(palace);
  const stopped = await palace.run("palace", ["stop"]);
  expect(stopped, stopped.stderr).toMatchObject({ code: 0 });
}

describe.skipIf(missing !== undefined)("a switch of the driver", () => {
  it("a note that was deleted while a Chroma server was in use stays deleted after the switch back to the files", async () => {
    await using palace = createTestPalace();
    mempalaceEnv(palace.home);
    await using server = await startPythonChroma(VERSION, palace.home, join(palace.home, "server"));
    const chroma = { MEMPALACE_DRIVER: "chroma", MEMPALACE_CHROMA_URL: server.url };
    const texts = async (): Promise<string[]> => {
      await using agent = await palace.shim();
      const { drawers } = (await agent.call("mempalace_list_drawers", {})) as {
        drawers: { content_preview: string }[];
      };
      return drawers.map(({ content_preview: text }) => text).sort();
    };
    let deleted = "";
    await during(palace, {}, async () => {
      await using agent = await palace.shim();
      const add = async (content: string): Promise<string> => {
        const made = await agent.call("mempalace_add_drawer", { wing: "w", room: "r", content });
        return (made as { drawer_id: string }).drawer_id;
      };
      await add("the quarry opens at seven");
      deleted = await add("the old password of the quarry");
    });
    await during(palace, chroma, async () => {
      await using agent = await palace.shim();
      await agent.call("mempalace_delete_drawer", { drawer_id: deleted });
      await agent.call("mempalace_add_drawer", { wing: "w", room: "r", content: "the quarry closes at five" });
    });
    const left = ["the quarry closes at five", "the quarry opens at seven"];
    await during(palace, {}, async () => expect(await texts()).toEqual(left));
    await during(palace, {}, async () => expect(await texts()).toEqual(left));
    const rows = await dumpChroma(VERSION, palace.home, palace.config.paths.palaceDir);
    expect([...rows.values()].map(({ text }) => text).sort()).toEqual(left);
  });
});
