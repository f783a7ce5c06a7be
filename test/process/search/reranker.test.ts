import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Client } from "../../../src/wire/client/client.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { writeTinyModel, writeTinyReranker } from "../../helpers/tiny-model.ts";

const NOTES = [
  "The heron stands in the reeds at dawn.",
  "A heron dived at noon, zz.",
  "One heron, zz zz, of the heron pond.",
];

async function ready(client: Client): Promise<unknown> {
  const state = async (): Promise<unknown> => {
    const { search } = await client.call("palace.status", {});
    return [search.modelState, search.pending, !search.reranker?.detail.includes("is not ready")];
  };
  await expect.poll(state, { timeout: 30_000 }).toEqual(["ready", 0, true]);
  return (await client.call("palace.status", {})).search.reranker;
}

test("a cross-encoder orders the hits, and a missing or broken cross-encoder leaves their order unchanged", async () => {
  await using palace = createTestPalace();
  const model = writeTinyModel(join(palace.home, "model"));
  const orders: string[][] = [];
  const told: string[] = [];
  const rows: string[] = [];
  const states: unknown[] = [];
  const good = writeTinyReranker(join(palace.home, "cross"), { zz: 5 });
  const broken = writeTinyReranker(join(palace.home, "broken"), {});
  writeFileSync(join(broken, "onnx/model.onnx"), "no model");
  for (const folder of [join(palace.home, "none"), good, broken]) {
    const broker = await palace.startBroker({ MEMPALACE_MODEL_DIR: model, MEMPALACE_RERANK_DIR: folder });
    const client = await palace.client();
    if (orders.length === 0)
      for (const content of NOTES) await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content });
    states.push(await ready(client));
    const answer = (await client.callTool("mempalace_search", {
      query: "heron in the reeds at dawn",
      explain: true,
    })) as {
      results: { text: string }[];
      reranked: { state: string };
    };
    orders.push([answer.reranked.state, ...answer.results.map(({ text }) => text)]);
    client.close();
    if (folder === good) {
      const people = await palace.run("palace", ["search", "heron", "in", "the", "reeds", "at", "dawn", "--explain"]);
      expect(people.stdout).toMatch(/cross-encoder: logit 10, in place \d before it; score [\d.]+ now/);
    }
    const doctor = await palace.run("palace", ["doctor"]);
    told.push(doctor.stdout);
    const { stdout } = await palace.run("palace", ["status"]);
    rows.push(/^cross-encoder\t(.*)$/m.exec(stdout)?.[1] ?? "");
    broker.kill("SIGTERM");
    await once(broker, "exit");
  }
  const [off, used, failed] = orders as [string[], string[], string[]];
  expect(used).toEqual(["used", NOTES[2], NOTES[1], NOTES[0]]);
  expect(off[1]).toBe(NOTES[0]);
  expect([off[0], failed[0]]).toEqual(["off", "off"]);
  expect(failed.slice(1)).toEqual(off.slice(1));
  expect(states).toMatchObject([{ state: "off" }, { state: "ready", detail: good }, { state: "failed" }]);
  expect(told[0]).toMatch(/cross-encoder\s+off: no cross-encoder in /);
  expect(told[1]).toMatch(/cross-encoder\s+it orders the first hits: /);
  expect(told[2]).toMatch(/cross-encoder\s+failed: /);
  expect(rows).toEqual(["", `it orders the first hits: ${good}`, expect.stringMatching(/^failed: /)]);
});
