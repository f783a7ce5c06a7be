/** Runs the real Roampal's plugin for opencode, unchanged except for the port number, against the broker over real HTTP. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { type Behind, listenersAt, told, withDoors } from "../../helpers/outcome-http.ts";
import { ROAMPAL_VERSIONS, roampalMissing, roampalPlugin, type RoampalVersion } from "../../helpers/python-roampal.ts";

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

const TIMEOUT_MS = 300_000;
const CLIENT = join(import.meta.dirname, "client");
const POLL = { timeout: 120_000, interval: 200 };
const SUMMARY = "The oven was cleaned with soda, as the user confirmed.";
const FACT = "The oven in the kitchen is cleaned with soda.";

for (const version of ROAMPAL_VERSIONS) {
  const missing = await roampalMissing(version);
  const title = `${version}: Roampal's plugin for opencode stores a turn, judges it by the next turn and shows it to a second session`;
  test.skipIf(missing !== undefined)(
    missing === undefined ? title : `${title} (${missing})`,
    { timeout: TIMEOUT_MS },
    async () => {
      await using palace = await withDoors(false, { MEMPALACE_OUTCOME_LOCAL: "on" });
      const { instance_id: instance } = await told(palace.door, "/api/health");
      const holders = listenersAt(palace.port);
      await using judge = await judgingModel();
      await using opencode = openPlugin(version, palace, judge.url);

      await opencode.turn("s1", "How is the oven cleaned?", "With soda and patience.");
      const shown = await opencode.turn("s1", "Thanks, that worked. And the fridge?", "With vinegar.");
      // 0.6.0 does not ask the agent for a score, because its model judges the exchange.
      if (version === "0.3.6.1") expect(shown).toContain("With soda and patience.");
      const summaries = (): Promise<unknown> =>
        found(palace, { metadata_filters: { memory_type: "exchange_summary" } });
      await expect.poll(summaries, POLL).toMatchObject([{ content: SUMMARY, uses: 1 }]);
      expect(judge.asked.join("\n")).toContain("With soda and patience.");
      const facts = (): Promise<unknown> => found(palace, { metadata_filters: { memory_type: "fact" } });
      if (version === "0.6.0") await expect.poll(facts, POLL).toMatchObject([{ content: FACT }]);

      // The stored summary is of the first exchange only, so the next prompt asks about the second exchange.
      if (version === "0.3.6.1") expect(await opencode.turn("s1", "Good.", "Yes.")).toContain("With vinegar.");
      expect(await opencode.turn("s2", "What is the oven cleaned with, soda?", "Yes.")).toContain(SUMMARY);
      expect(await told(palace.door, "/api/health")).toMatchObject({ instance_id: instance });
      expect(listenersAt(palace.port)).toEqual(holders);
    },
  );
}

async function found(palace: Behind, narrowed: object): Promise<unknown> {
  const asked = { query: "", collections: ["working"], limit: 10, ...narrowed };
  return (await told(palace.door, "/api/search", asked))["results"];
}

/** Starts a model behind an API like OpenAI's that judges every exchange as a success, in the fields of both Roampal versions. */
async function judgingModel(): Promise<AsyncDisposable & { url: string; asked: string[] }> {
  const verdict = { summary: SUMMARY, outcome: "worked", exchange_summary: SUMMARY, exchange_outcome: "worked" };
  const content = JSON.stringify({ ...verdict, facts: [FACT] });
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    text(request).then(
      (question) => asked.push(question),
      () => {},
    );
    response.setHeader("content-type", "application/json").end(JSON.stringify({ choices: [{ message: { content } }] }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections());
  return { url: `http://127.0.0.1:${port}`, asked, [Symbol.asyncDispose]: close };
}

type Opencode = AsyncDisposable & { turn: (session: string, prompt: string, answer: string) => Promise<string> };

function openPlugin(version: RoampalVersion, palace: Behind, judge: string): Opencode {
  const plugin = join(palace.home, "roampal.ts");
  writeFileSync(plugin, readFileSync(roampalPlugin(version), "utf8").replaceAll("27182", `${palace.port}`));
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [join(CLIENT, "opencode-host.ts"), plugin], {
    cwd: palace.home,
    env: {
      PATH: `${CLIENT}:${process.env["PATH"] ?? ""}`,
      HOME: palace.home,
      ROAMPAL_SIDECAR_URL: judge,
      ROAMPAL_SIDECAR_MODEL: "judge",
    },
  });
  const ended = once(child, "close");
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = text(child.stderr);
  let messages = 0;
  let taken = 0;
  const run = async <Output>(name: string, input: object, output: Output): Promise<Output> => {
    child.stdin.write(`${JSON.stringify([name, input, output])}\n`);
    const answer = await answers.next();
    if (answer.done === true) throw new Error(`the plugin ended: ${await said}`);
    const done = JSON.parse(answer.value) as { output: Output; taken: number };
    taken = done.taken;
    return done.output;
  };
  const event = (type: string, properties: object): Promise<object> =>
    run("event", { event: { type, properties } }, {});
  const sessions = new Set<string>();
  const turn = async (sessionID: string, prompt: string, answer: string): Promise<string> => {
    if (!sessions.has(sessionID)) await event("session.created", { info: { id: sessionID } });
    sessions.add(sessionID);
    await run("chat.message", { sessionID, agent: "build" }, { message: {}, parts: [{ type: "text", text: prompt }] });
    const { system } = await run("experimental.chat.system.transform", { sessionID }, { system: [] as string[] });
    const messageID = `m${++messages}`;
    await event("message.updated", { info: { id: messageID, sessionID, role: "assistant" } });
    await event("message.part.updated", {
      part: { id: `p${messages}`, sessionID, messageID, type: "text", text: answer },
    });
    const before = taken;
    await event("session.idle", { sessionID });
    // Polls, because the later version sends the turn some time after the session is idle.
    await expect.poll(() => run("none", {}, {}).then(() => taken), POLL).toBeGreaterThan(before);
    return system.join("\n");
  };
  const dispose = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  return { turn, [Symbol.asyncDispose]: dispose };
}
