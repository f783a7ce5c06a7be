import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import type { Client } from "../../../src/wire/client/client.ts";
import type { MemoryTold } from "../../../src/protocol/outcome.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const SESSION = "pi/1";
/** Text in the form of a GitHub token, but not a real token. */
const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const KNOWN = "The flaky deployment was fixed by a longer timeout";

type Asked = { url: string; headers: IncomingHttpHeaders; body: { model: string; messages: { content: string }[] } };
/** Returns the answer to the nth request. A number is an HTTP status. */
type Reply = (asked: Asked, count: number) => string | number | Promise<string>;
type Endpoint = AsyncDisposable & { url: string; asked: Asked[] };

async function startEndpoint(reply: Reply): Promise<Endpoint> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void readAll(request).then(async (body) => {
      if (request.method === "GET") return response.end("{}");
      const one = { url: request.url ?? "", headers: request.headers, body: JSON.parse(body) as Asked["body"] };
      asked.push(one);
      const said = await reply(one, asked.length);
      if (typeof said === "number") response.writeHead(said, { "retry-after": "0.1" }).end("{}");
      else response.end(JSON.stringify({ choices: [{ message: { content: said } }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/v1/`, asked, [Symbol.asyncDispose]: close };
}

const inputOf = ({ body }: Asked): { memories: { id: string; text: string }[]; reply: string; exchange: object } =>
  JSON.parse(body.messages[1]?.content ?? "") as ReturnType<typeof inputOf>;

function saying(outcome: string, memory = outcome): (asked: Asked) => string {
  return (asked) => {
    const scores = Object.fromEntries(inputOf(asked).memories.map(({ id }) => [id, memory]));
    return `<think>{"outcome":</think> ${JSON.stringify({ outcome, memory_scores: scores })}`;
  };
}

type Talk = {
  palace: TestPalace;
  client: Client;
  say: (prompt: string) => Promise<string>;
  answer: (user: string) => Promise<string>;
};

/** Makes a conversation whose first exchange has ended, with one memory shown for it. `more` adds to the agent's environment. */
async function talk(
  more: Record<string, string>,
): Promise<Talk & AsyncDisposable & { exchange: string; shown: string }> {
  const palace = createTestPalace();
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) });
  const env = { MEMPALACE_OUTCOMES: "on", ...more };
  const hook = async (what: string, input: object): Promise<string> => {
    const args = ["hook", what, "--session", SESSION, "--agent", "pi", "--within", "20000"];
    return (await palace.run("palace", args, { env, input: JSON.stringify({ cwd: "/work", ...input }) })).stdout;
  };
  const say = async (prompt: string): Promise<string> => hook("turn", { prompt });
  const answer = async (user: string): Promise<string> => hook("turn-end", { user, assistant: "A longer timeout." });
  const client = await palace.client();
  await client.call("outcome.record", { key_takeaway: KNOWN });
  const told = await say("why is the deployment flaky?");
  await answer("why is the deployment flaky?");
  const { memories } = await client.call("outcome.search", { collections: ["working"], sort_by: "recency" });
  const exchange = memories.find(({ content }) => content.startsWith("User: "))?.id ?? expect.fail(told);
  const shown = /\[id:(\w+)\]/.exec(told)?.[1] ?? expect.fail(told);
  const close = async (): Promise<void> => {
    client.close();
    await palace[Symbol.asyncDispose]();
  };
  return { palace, client, say, answer, exchange, shown, [Symbol.asyncDispose]: close };
}

async function outcomesOf({ client }: Talk, id: string): Promise<unknown[]> {
  const told = await client.call("outcome.why", { id });
  return told.found ? (told as MemoryTold).outcomes.map(({ outcome, by, weight }) => [outcome, by, weight]) : [];
}

const judging = ({ url }: Endpoint, key = ""): Record<string, string> => ({
  ...{ MEMPALACE_JUDGE_URL: url, MEMPALACE_JUDGE_MODEL: "small" },
  ...(key !== "" && { MEMPALACE_JUDGE_KEY: key }),
});

test("the judge model judges an unscored exchange once, and the outcome is recorded as the judge's", async () => {
  await using endpoint = await startEndpoint(saying("worked", "failed"));
  await using scene = await talk(judging(endpoint, "secret"));
  const { say, answer, exchange, shown } = scene;
  expect(endpoint.asked, "nobody has judged an answer that the user has said nothing to").toEqual([]);
  await say("thanks, that was it");
  await answer(`thanks, that was it, with ${TOKEN}`);
  await vi.waitFor(async () => expect(await outcomesOf(scene, exchange)).toEqual([["worked", "judge", 1]]), 30_000);
  expect(await outcomesOf(scene, shown)).toEqual([["failed", "judge", 1]]);
  expect(endpoint.asked).toHaveLength(1);
  const [asked = expect.fail()] = endpoint.asked;
  expect([asked.url, asked.headers.authorization, asked.body.model]).toEqual([
    ...["/v1/chat/completions", "Bearer secret", "small"],
  ]);
  expect(inputOf(asked)).toEqual({
    exchange: { user: "why is the deployment flaky?", assistant: "A longer timeout." },
    reply: expect.stringMatching(/^thanks, that was it, with (?!ghp_)/) as string,
    memories: [{ id: shown, text: `Key takeaway: ${KNOWN}` }],
  });
});

test("an exchange that the agent scored is not sent to the judge model", async () => {
  await using endpoint = await startEndpoint(saying("failed"));
  await using scene = await talk(judging(endpoint));
  const { client, say, answer, exchange, shown } = scene;
  await say("thanks");
  const score = { outcome: "worked", memory_scores: { [shown]: "partial" }, conversation: SESSION };
  await client.call("outcome.score", score);
  await answer("thanks");
  // Waits until the next turn was sent to the judge: the scored turn would have been sent before it.
  await say("and why?");
  await answer("and why?");
  await vi.waitFor(() => expect(endpoint.asked).toHaveLength(1), 30_000);
  expect(endpoint.asked.map((asked) => inputOf(asked).reply)).toEqual(["and why?"]);
  expect(await outcomesOf(scene, exchange)).toEqual([["worked", "agent", 1]]);
});

test.each([
  ["a reply that is not a judgment", "worked", "No."],
  ["an HTTP error", "worked", 429],
] as const)(
  "after %s the judge model is asked once more, without the parameters that some models refuse",
  async (_what, outcome, first) => {
    const usual = saying(outcome);
    await using endpoint = await startEndpoint((asked, count) => (count === 1 ? first : usual(asked)));
    await using scene = await talk(judging(endpoint));
    await scene.say("thanks");
    await scene.answer("thanks");
    await vi.waitFor(
      async () => expect(await outcomesOf(scene, scene.exchange)).toEqual([[outcome, "judge", 1]]),
      30_000,
    );
    expect(endpoint.asked.map(({ body }) => Object.keys(body))).toEqual([
      ["model", "messages", "temperature", "max_tokens"],
      ["model", "messages"],
    ]);
  },
);

test("an agent's score without a conversation or after the turn's end counts, and the judge model's later judgment does not", async () => {
  const goes = Promise.withResolvers<void>();
  await using endpoint = await startEndpoint(async (asked) => {
    await goes.promise;
    return saying("worked")(asked);
  });
  await using scene = await talk(judging(endpoint));
  const { palace, client, say, answer, exchange, shown } = scene;
  // Another session of the same agent was shown the same memory, so a score of this memory does not say which conversation is meant.
  await client.call("turn.begin", { conversation: "pi/2", prompt: "why is the deployment flaky?" });
  await client.call("turn.end", { conversation: "pi/2", user: "why is the deployment flaky?", assistant: "Wait." });
  await client.call("turn.begin", { conversation: "pi/2", prompt: "thanks" });
  await say("thanks");
  await client.call("outcome.score", { outcome: "unknown", memory_scores: { [shown]: "partial" } });
  await answer("thanks");
  await vi.waitFor(() => expect(endpoint.asked).toHaveLength(1), 30_000);
  await client.call("outcome.score", { outcome: "unknown", memory_scores: { [exchange]: "partial" } });
  goes.resolve();
  const log = (): string => readFileSync(join(palace.config.paths.stateDir, "hook.log"), "utf8");
  await vi.waitFor(() => expect(log()).toContain("small has judged 0 of pi/1"), 30_000);
  for (const id of [shown, exchange]) expect(await outcomesOf(scene, id)).toEqual([["partial", "agent", 1]]);
});

test("a judgment of an id that was not asked about counts for no memory", async () => {
  let foreign = "";
  await using endpoint = await startEndpoint(() =>
    JSON.stringify({ outcome: "unknown", memory_scores: { [foreign]: "failed" } }),
  );
  await using scene = await talk(judging(endpoint));
  const { palace, client, say, answer, exchange, shown } = scene;
  ({ id: foreign } = await client.call("outcome.record", { key_takeaway: "of another talk" }));
  await say("thanks");
  await answer("thanks");
  const log = (): string => readFileSync(join(palace.config.paths.stateDir, "hook.log"), "utf8");
  await vi.waitFor(() => expect(log()).toContain("small has judged 0 of pi/1"), 30_000);
  for (const one of [exchange, shown, foreign]) expect(await outcomesOf(scene, one)).toEqual([]);
});

test("the log names a judge's address that fails, and the turn continues without a judgment", async () => {
  await using endpoint = await startEndpoint(() => 500);
  await using scene = await talk(judging(endpoint));
  const { palace, say, answer, exchange } = scene;
  await say("thanks");
  await answer("thanks");
  const log = (): string => readFileSync(join(palace.config.paths.stateDir, "hook.log"), "utf8");
  await vi.waitFor(() => expect(log()).toContain(`${endpoint.url}: status 500`), 30_000);
  expect(endpoint.asked).toHaveLength(2);
  expect(await outcomesOf(scene, exchange)).toEqual([]);
  // The agent is then asked about its newest exchange.
  expect(await say("and why?")).toContain("thanks");
});

test("a late judgment leaves the question about the newer exchange open", async () => {
  const goes = Promise.withResolvers<void>();
  await using endpoint = await startEndpoint(async (asked) => {
    await goes.promise;
    return saying("worked")(asked);
  });
  await using scene = await talk(judging(endpoint));
  const { client, say, answer, exchange } = scene;
  await say("thanks");
  await answer("thanks");
  await say("and why?");
  expect(await outcomesOf(scene, exchange)).toEqual([]);
  goes.resolve();
  await vi.waitFor(async () => expect(await outcomesOf(scene, exchange)).toHaveLength(1), 30_000);
  expect(await client.call("turn.scored", { conversation: SESSION })).toEqual({ isAsked: true, isScored: false });
});

test("without the name of a judge model the hook sends nothing to the judge's address", async () => {
  await using endpoint = await startEndpoint(saying("failed"));
  await using scene = await talk({ MEMPALACE_JUDGE_URL: endpoint.url });
  await scene.say("thanks");
  await scene.answer("thanks");
  expect(await scene.say("and why?")).toContain("thanks");
  expect(endpoint.asked).toEqual([]);
});

test("palace doctor says whether the judge model's address answers", async () => {
  await using palace = createTestPalace();
  const endpoint = await startEndpoint(() => "");
  const told = async (env: Record<string, string>): Promise<string> => {
    const { stdout } = await palace.run("palace", ["doctor", "--no-start"], { env });
    return stdout.split("\n").find((line) => line.includes("judge model")) ?? "";
  };
  expect(await told({})).toBe("");
  expect(await told({ MEMPALACE_JUDGE_URL: endpoint.url })).toMatch(
    /^warn\t.*off: judge-url and judge-model are both needed/,
  );
  expect(await told(judging(endpoint))).toMatch(/^ok\t.*small at http/);
  await endpoint[Symbol.asyncDispose]();
  expect(await told(judging(endpoint))).toMatch(/^warn\t.*does not answer/);
});
