/** Tests compacted, continued and forked sessions of the real opencode through its server. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FENCE } from "./fenced.ts";
import { type Post, serveOpencode } from "./opencode-server.ts";
import { type Host, onHost } from "./places.ts";
import { MODEL_OF } from "./real-agents.ts";

const MODEL = MODEL_OF.opencode;
/** Maximum number of sessions to try. A hook that takes longer than a second adds no text, so a slow machine gets another session. */
const SESSIONS_MAX = 8;

/** Number of the user's messages between two diary entries. */
const DIARY_EVERY = 15;

let host: Host;
let post: Post;

/** Sends a unique message in a session and returns the message. */
async function say(session: string): Promise<string> {
  const mark = `fern ${randomUUID()}`;
  const model = { providerID: "stub", modelID: MODEL };
  await post(`/session/${session}/message`, { model, parts: [{ type: "text", text: `Remember the ${mark}` }] });
  return mark;
}

/** Returns the memory's texts in the model's last request, one per fence. */
async function told(): Promise<string[]> {
  const texts = (await host.seen()).texts[MODEL] ?? [];
  return texts.flatMap((text) => text.split(FENCE).slice(1));
}

/** Begins sessions until one shows the model the memory. Resolves to its id and its first message. */
async function begin(open: () => Promise<{ id: string }>): Promise<{ id: string; mark: string }> {
  for (let again = 1; ; again += 1) {
    const { id } = await open();
    const mark = await say(id);
    if ((await told()).length > 0 || again === SESSIONS_MAX) return { id, mark };
  }
}

/** Counts the drawers with a text. A search would show equal drawers only once. */
async function drawersWith(text: string): Promise<number> {
  await using shim = await host.shim();
  const { drawers } = await shim.call("mempalace_list_drawers", { limit: 100 });
  return (drawers as { content_preview: string }[]).filter((drawer) => drawer.content_preview.includes(text)).length;
}

async function diary(): Promise<string[]> {
  await using shim = await host.shim();
  const { entries = [] } = await shim.call("mempalace_diary_read", { agent_name: "opencode" });
  return (entries as { content: string }[]).map(({ content }) => content);
}

beforeAll(async () => {
  host = await onHost();
  await using shim = await host.shim();
  await shim.call("mempalace_add_drawer", { wing: "agents", room: "notes", content: "Use zod." });
  post = await serveOpencode(host, {});
});
afterAll(async () => await host?.[Symbol.asyncDispose]());

test("opencode shows the wake-up text once in a compacted, continued and forked session, and files each message once", async () => {
  const session = await begin(() => post("/session", {}));
  const first = await told();
  expect(first).toHaveLength(1);
  const said = [session.mark, await say(session.id)];
  expect(await told()).toEqual(first);
  for (const mark of said) await expect.poll(() => drawersWith(mark)).toBe(1);

  await post(`/session/${session.id}/summarize`, { providerID: "stub", modelID: MODEL });
  expect(((await host.seen()).asides[MODEL] ?? []).join("\n")).toContain(
    "mempalace_search finds what the summary leaves out",
  );
  said.push(await say(session.id));
  expect(await told()).toEqual(first);
  await expect.poll(() => drawersWith(said[2]!)).toBe(1);

  const fork = await begin(() => post(`/session/${session.id}/fork`, {}));
  expect(await told()).toHaveLength(1);
  said.push(fork.mark);
  await expect.poll(() => drawersWith(fork.mark)).toBe(1);
  for (const mark of said) expect(await drawersWith(mark), mark).toBe(1);

  // Copied messages of the fork do not count towards a diary entry.
  while (said.length < DIARY_EVERY) said.push(await say(session.id));
  expect(await diary()).toEqual([]);
  const last = await say(session.id);
  await expect.poll(diary).toEqual([expect.stringContaining(`session:${session.id}|msgs:15`)]);
  expect((await diary())[0]).toContain(last);
});
