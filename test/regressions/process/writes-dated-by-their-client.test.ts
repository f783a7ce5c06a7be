/** A client may date a write that it spooled. The broker ignores a date beyond the spool's maximum age or in the future. */
import { expect, test } from "vitest";
import { SPOOL_AGE_MAX_MS } from "../../../src/protocol/limits.ts";
import { WRITTEN_META } from "../../../src/protocol/headers.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Drawers = { drawers: { content_preview: string; metadata: { filed_at: string } }[] };
type Line = { atMs: number; event: string; method?: string; claimedAtMs?: number };

test("a write keeps its client's date only within the spool's time limit", async () => {
  await using palace = createTestPalace();
  await using agent = await palace.shim();
  const beganAtMs = Date.now();
  const believed = beganAtMs - SPOOL_AGE_MAX_MS + HOUR_MS;
  const claims = {
    ...{ believed, "too old": beganAtMs - SPOOL_AGE_MAX_MS - 1, future: beganAtMs + 29 * DAY_MS },
    ...{ "soon to come": beganAtMs + HOUR_MS, "no time": String(believed), "no whole number": believed + 0.5 },
  };
  for (const [content, claim] of Object.entries(claims)) {
    const drawer = { wing: "w", room: "r", content };
    const params = { name: "mempalace_add_drawer", arguments: drawer, _meta: { [WRITTEN_META]: claim } };
    await agent.request("tools/call", params);
  }
  const { drawers } = (await agent.call("mempalace_list_drawers", { wing: "w" })) as Drawers;
  expect(drawers).toHaveLength(Object.keys(claims).length);
  // Dates of drawers have no time zone, so the dates of new drawers may differ from `beganAtMs` by hours.
  const old = drawers.filter(({ metadata }) => Math.abs(Date.parse(metadata.filed_at) - beganAtMs) > 2 * DAY_MS);
  expect(old.map(({ content_preview }) => content_preview)).toEqual(["believed"]);

  const logs = await palace.run("palace", ["logs", "--json"]);
  const lines = logs.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const dated = lines.filter(({ claimedAtMs }) => claimedAtMs !== undefined);
  expect(dated).toMatchObject([{ event: "write dated by its client", method: "add_drawer", claimedAtMs: believed }]);
  expect(dated[0]?.atMs).toBeGreaterThanOrEqual(beganAtMs);
  expect((await palace.run("palace", ["logs"])).stdout).toMatch(
    new RegExp(`INFO +write dated by its client .*claimedAtMs=${believed} `),
  );
});
