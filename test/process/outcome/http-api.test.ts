import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { get, type Memory, post, send, told, withDoors } from "../../helpers/outcome-http.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test.each(["socket", "door"] as const)("the API serves a whole conversation, through the %s", async (which) => {
  await using palace = await withDoors();
  const ask = palace[which];
  const conversation_id = "ses_1";
  const kept = await told(ask, "/api/record-response", { key_takeaway: "Flaky deployments want a longer timeout" });
  const fact = { content: "My name is Ada", tags: ["identity"], always_inject: true, importance: 0.9 };
  await told(ask, "/api/memory-bank/add", fact);

  const query = "why is the deployment flaky?";
  const first = await told(ask, "/api/hooks/get-context", { query, conversation_id, recent_messages: [] });
  expect(first).toMatchObject({ scoring_required: false, scoring_exchange: null, scoring_memories: null });
  expect(first["formatted_injection"]).toBe(first["context_only"]);
  expect(first["context_only"]).toContain("User: Ada");
  const [shown = expect.fail()] = first["relevant_memories"] as Memory[];
  expect(shown).toMatchObject({ id: kept["doc_id"], collection: "working", uses: 0, age: "now", wilson_score: 0.5 });
  expect(first["user_facts"]).toMatchObject([{ content: "My name is Ada", importance: 0.9, tags: ["identity"] }]);

  const said = { conversation_id, user_message: query, assistant_response: "Its timeout is short." };
  const stopped = await told(ask, "/api/hooks/stop", { ...said, metadata: { model: "small", rating: 4, ...UNFIT } });
  const { results } = (await told(ask, "/api/search", { id: stopped["doc_id"] })) as { results: unknown[] };
  expect(results).toMatchObject([{ metadata: { model: "small", rating: 4, room: "working", turn_type: "exchange" } }]);
  const { metadata: keptFields = {} } = (results as { metadata?: Record<string, unknown> }[])[0] ?? {};
  for (const name of Object.keys(UNFIT)) if (name !== "room") expect(keptFields).not.toHaveProperty([name]);
  expect(stopped).toMatchObject({ stored: true, scoring_complete: false, should_block: false, block_message: null });

  const second = await told(ask, "/api/hooks/get-context", { query: "thanks!", conversation_id });
  expect(second).toMatchObject({
    ...{ scoring_required: true, scoring_exchange: { user: query, assistant: "Its timeout is short." } },
    context_summary: "",
  });
  expect(second["scoring_memories"]).toContainEqual({
    ...{ id: shown.id, content: shown.content, content_hint: shown.content.slice(0, 60) },
  });
  expect(second["formatted_injection"]).toMatch(/^<roampal-score-required>\n/);
  expect(second["scoring_prompt"]).toContain(`"${shown.id}": "___"`);
  expect(second["scoring_prompt_simple"]).toContain("score_memories");
  expect(await told(ask, `/api/hooks/check-scored?conversation_id=${conversation_id}`)).toEqual({ scored: false });

  const scores = {
    conversation_id,
    outcome: "worked",
    memory_scores: { [shown.id]: "worked", working_00000000: "failed" },
  };
  expect(await told(ask, "/api/record-outcome", scores)).toEqual({
    ...{ success: true, outcome: "worked", documents_scored: 1, summary_stored: false },
  });
  expect(await told(ask, `/api/hooks/check-scored?conversation_id=${conversation_id}`)).toEqual({ scored: true });
  for (const id of [shown.id, String(stopped["doc_id"])]) {
    const found = await told(ask, "/api/search", { id });
    expect(found).toMatchObject({ query: id, count: 1 });
    expect(found["results"]).toMatchObject([
      { id, uses: 1, score: 0.7, success_count: 1, last_outcome: "worked", outcome_history: "[Y]" },
    ]);
  }
  const found = await told(ask, "/api/search", { query: "flaky deployment timeout", limit: 5 });
  expect((found["results"] as Memory[])[0]).toMatchObject({ id: shown.id, uses: 1 });
  for (const field of ["distance", "similarity", "final_rank_score", "combined_score", "quality", "learned_score"])
    expect((found["results"] as Record<string, unknown>[])[0]?.[field], field).toBeTypeOf("number");
  const stats = await told(ask, "/api/stats");
  expect(stats).toMatchObject({ initialized: true, data_path: palace.config.paths.home });
  expect(stats["collections"]).toMatchObject({ working: { count: 2 }, memory_bank: { count: 1 } });
  // A repeated score does not count. The end of the turn reports that the turn was scored.
  await told(ask, "/api/record-outcome", scores);
  expect((await told(ask, "/api/search", { id: shown.id }))["results"]).toMatchObject([{ uses: 1 }]);
  const end = { conversation_id, user_message: "thanks!", assistant_response: "You are welcome." };
  expect(await told(ask, "/api/hooks/stop", end)).toMatchObject({ stored: true, scoring_complete: true });
});

/** Fields that a program may not set, or that cannot be stored. */
const UNFIT = {
  ...{ room: "books", status: "archived", roampal_import: "{}", promotion_history: "[null]" },
  ...{ "a b": 1, long: "x".repeat(1_001), nested: { a: 1 }, nothing: null },
};

test("each invalid request gets its own status and a detail, and changes nothing", async () => {
  await using palace = await withDoors(false);
  const ask = palace.socket;
  const before = await told(ask, "/api/stats");
  const deep = `{"query":${"[".repeat(100)}${"]".repeat(100)}}`;
  const wrong: [status: number, path: string, body: unknown, detail: unknown][] = [
    [400, "/api/memory-bank/add", {}, "Content required"],
    [400, "/api/memory-bank/add", { content: "  " }, "Content required"],
    [400, "/api/memory-bank/archive", { content: "" }, "Content required"],
    [400, "/api/ingest", { title: "x" }, "Content required"],
    [400, "/api/remove-book", { title: " " }, "Title required"],
    [400, "/api/search", { query: "x", collections: ["shelves"] }, "Unknown collection: shelves"],
    [400, "/api/memory/update-content", { doc_id: "x", collection: "y", new_content: "z" }, "Unknown collection: y"],
    [404, "/api/memory/update-content", { doc_id: "x", collection: "working", new_content: "z" }, /No such document/],
    [404, "/api/nothing", {}, "Not Found"],
    [404, "/api/toString", {}, "Not Found"],
    [413, "/api/ingest", { content: "x".repeat(10 * 1024 ** 2 + 1) }, /content exceeds/],
    [413, "/api/record-response", { key_takeaway: "x".repeat(16 * 1024 ** 2 + 1) }, /a message may have/],
    [422, "/api/hooks/get-context", {}, [{ loc: ["body", "query"], msg: "Field required", type: "missing" }]],
    [422, "/api/hooks/get-context", { query: 5 }, [{ loc: ["body", "query"], msg: "must be a string" }]],
    [
      422,
      "/api/hooks/stop",
      { user_message: "a", assistant_response: ["b"] },
      [{ loc: ["body", "assistant_response"] }],
    ],
    [422, "/api/hooks/stop", { conversation_id: "x".repeat(201), user_message: "a", assistant_response: "b" }, [{}]],
    [
      422,
      "/api/hooks/stop",
      { user_message: "a", assistant_response: "b", metadata: ["x"] },
      [{ loc: ["body", "metadata"] }],
    ],
    [422, "/api/search", { limit: 501 }, [{ msg: "must be at most 500" }]],
    [
      422,
      "/api/search",
      { days_back: 0, sort_by: "age" },
      [{ loc: ["body", "days_back"] }, { loc: ["body", "sort_by"] }],
    ],
    [422, "/api/search", { query: "x".repeat(2001) }, [{}]],
    [422, "/api/search", { metadata_filters: { score: { $near: 1 } } }, /unknown operator/],
    [422, "/api/memory-bank/add", { content: "x", importance: 2 }, [{ msg: "must be at most 1" }]],
    [422, "/api/memory-bank/add", { content: "x\0y" }, /null bytes/],
    [422, "/api/record-outcome", { outcome: "great" }, [{ loc: ["body", "outcome"] }]],
    [422, "/api/record-outcome", { outcome: "worked", memory_scores: { a: "great" } }, /must be one of/],
    [422, "/api/record-response", { key_takeaway: "x", initial_score: "unknown" }, [{}]],
    [422, "/api/ingest", { content: "x", chunk_size: 1 }, /size must be/],
    [422, "/api/context-insights", [], [{ loc: ["body"] }]],
    [422, "/api/context-insights", null, [{ loc: ["body"] }]],
  ];
  for (const [status, path, body, detail] of wrong) {
    const answer = await post(ask, path, body);
    const what = `${path} ${JSON.stringify(body)?.slice(0, 80)}: ${answer.text.slice(0, 200)}`;
    expect(answer.status, what).toBe(status);
    if (detail instanceof RegExp) expect(answer.body["detail"], what).toMatch(detail);
    else if (typeof detail === "string") expect(answer.body["detail"], what).toBe(detail);
    else expect(answer.body["detail"], what).toMatchObject(detail as object);
  }
  for (const body of ["{", "", deep, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])]) {
    const answer = await send(ask, "/api/record-response", body);
    expect(answer.status, answer.text).toBe(422);
  }
  for (const [method, path, allow] of [
    ["GET", "/api/search", "POST"],
    ["PUT", "/api/hooks/stop", "POST"],
    ["OPTIONS", "/api/ingest", "POST"],
    ["POST", "/api/stats", "GET"],
  ] as const) {
    const answer = await send({ ...ask, method }, path);
    expect([answer.status, answer.headers.allow, answer.body]).toEqual([405, allow, { detail: "Method Not Allowed" }]);
  }
  expect(await told(ask, "/api/stats")).toEqual(before);
  // Unknown fields and any content type are accepted.
  const odd = { ...ask, headers: { "content-type": "text/plain" } };
  expect(await told(odd, "/api/search", { query: "x", profile: "y" })).toEqual({ query: "x", count: 0, results: [] });
});

test("/api/health names the server and its folder, and says when the model is ready", async () => {
  await using palace = await withDoors();
  const health = await told(palace.door, "/api/health");
  const client = await palace.client();
  const { instanceId, pid } = await client.call("palace.status", {});
  client.close();
  expect(health).toMatchObject({
    ...{ status: "healthy", service: "palace-devbox", pid, instance_id: instanceId, memory_initialized: true },
    data_path: palace.config.paths.home,
  });
  const isEmbedding = async () => expect(await told(palace.door, "/api/health")).toMatchObject({ embedding_ok: true });
  await vi.waitFor(isEmbedding, 20_000);
});

test("requests for a memory that cannot be opened get 503 with the reason", async () => {
  await using foreign = createTestPalace({ env: { MEMPALACE_ENGINE: `command:${process.execPath} -e 0` } });
  await foreign.startBroker();
  await using broken = createTestPalace();
  mkdirSync(broken.config.paths.home, { recursive: true });
  writeFileSync(broken.config.paths.ledgerFile, "no ledger");
  await broken.startBroker();
  for (const { config } of [foreign, broken]) {
    const ask = { at: config.paths.socketPath };
    const why = config === foreign.config ? "Memory system not ready: another engine is in use" : expect.any(String);
    await vi.waitFor(
      async () => expect((await get(ask, "/api/health")).body).toMatchObject({ status: "unhealthy", detail: why }),
      20_000,
    );
    for (const answer of [
      await get(ask, "/api/health"),
      await get(ask, "/api/stats"),
      await post(ask, "/api/search", {}),
    ]) {
      expect(answer.status, answer.text).toBe(503);
      expect(answer.body["detail"], answer.text).toMatch(/engine|not ready|damaged|database/);
    }
  }
});

test("facts, takeaways, books and texts can be written, changed and removed", async () => {
  await using palace = await withDoors();
  const ask = palace.door;
  const { doc_id: id } = await told(ask, "/api/memory-bank/add", { content: "The user likes tea" });
  const changed = { old_content: "The user likes tea", new_content: "The user likes coffee" };
  expect(await told(ask, "/api/memory-bank/update", changed)).toEqual({ success: true, doc_id: id });
  const gone = { old_content: "zebra crossings of Lima", new_content: "x" };
  expect(await told(ask, "/api/memory-bank/update", gone)).toEqual({ success: false, doc_id: null });
  const insights = await told(ask, "/api/context-insights", { query: "what does the user like?" });
  expect(insights).toMatchObject({ user_facts: [], relevant_memories: [{ id, content: "The user likes coffee" }] });
  expect(insights["doc_ids"]).toEqual([id]);
  expect(await told(ask, "/api/memory-bank/archive", { content: id })).toEqual({ success: true });
  expect(await told(ask, "/api/memory-bank/archive", { content: id })).toEqual({ success: false });
  expect(await told(ask, "/api/search", { id })).toMatchObject({ count: 0 });

  const content = "Boilers want water. ".repeat(50);
  const book = { content, title: "Boilers", source: "b.md", chunk_size: 300, chunk_overlap: 50 };
  const filed = await told(ask, "/api/ingest", book);
  expect(filed).toMatchObject({ success: true, title: "Boilers", is_new: true });
  const ids = filed["doc_ids"] as string[];
  expect(ids).toHaveLength(Number(filed["chunks"]));
  expect(ids.length).toBeGreaterThan(3);
  expect(await told(ask, "/api/search", { id: ids.at(-1) })).toMatchObject({ results: [{ collection: "books" }] });
  expect(await told(ask, "/api/ingest", book)).toEqual({ ...filed, is_new: false });
  expect(await told(ask, "/api/books")).toMatchObject({
    books: [{ title: "Boilers", source: "b.md", chunk_count: ids.length }],
  });
  const removed = { success: true, removed: ids.length, title: "Boilers", cleaned_kg_refs: 0 };
  expect(await told(ask, "/api/remove-book", { title: "Boilers" })).toMatchObject(removed);
  expect(await told(ask, "/api/remove-book", { title: "Boilers" })).toMatchObject({ success: false, removed: 0 });

  const { doc_id } = await told(ask, "/api/record-response", { key_takeaway: "a long story", initial_score: "worked" });
  const rewritten = { doc_id, collection: "working", new_content: "short" };
  expect(await told(ask, "/api/memory/update-content", rewritten)).toEqual({ success: true, doc_id, new_length: 5 });
  const [memory] = (await told(ask, "/api/search", { id: doc_id }))["results"] as Record<string, unknown>[];
  expect(memory).toMatchObject({ content: "short", score: 0.7, metadata: { original_length: 26 } });
  const listed = await told(ask, "/api/search", { metadata_filters: { type: "key_takeaway" }, days_back: 1 });
  expect(listed).toMatchObject({ query: "", count: 1 });
});

test("two conversations keep their own state, and a score counts for the conversation that it names", async () => {
  await using palace = await withDoors();
  const ask = palace.door;
  const context = (conversation_id: string) =>
    told(ask, "/api/hooks/get-context", { query: `how is ${conversation_id}?`, conversation_id });
  const stop = async (conversation_id: string, more = {}): Promise<string> => {
    const said = { conversation_id, user_message: `how is ${conversation_id}?`, assistant_response: "Well." };
    return String((await told(ask, "/api/hooks/stop", { ...said, ...more }))["doc_id"]);
  };
  const usesOf = async (id: string): Promise<number> =>
    ((await told(ask, "/api/search", { id }))["results"] as Memory[])[0]?.uses ?? -1;
  const kept = new Map<string, string>();
  for (const talk of ["a", "b"]) {
    await context(talk);
    kept.set(talk, await stop(talk));
  }
  for (const talk of ["a", "b"])
    expect(await context(talk)).toMatchObject({ scoring_exchange: { user: `how is ${talk}?`, assistant: "Well." } });
  await told(ask, "/api/record-outcome", { conversation_id: "a", outcome: "worked" });
  expect([await usesOf(kept.get("a") ?? ""), await usesOf(kept.get("b") ?? "")]).toEqual([1, 0]);
  const scored = (talk: string) => told(ask, `/api/hooks/check-scored?conversation_id=${talk}`);
  expect([await scored("a"), await scored("b"), await scored("nobody")]).toEqual(
    [true, false, false].map((one) => ({ scored: one })),
  );
  // `mcp_1` is the name of a client, not of a conversation. So its score counts for the only exchange that still needs a score.
  const summary = { outcome: "failed", exchange_summary: "b was asked for" };
  expect(await told(ask, "/api/record-outcome", { conversation_id: "mcp_1", ...summary })).toMatchObject({
    summary_stored: true,
  });
  expect(await usesOf(kept.get("b") ?? "")).toBe(1);
  expect(await told(ask, "/api/search", { id: kept.get("b") })).toMatchObject({
    results: [{ content: "b was asked for", metadata: { exchange_outcome: "failed" } }],
  });
  // A score after the turn's end judges no exchange.
  const next = await stop("a");
  await told(ask, "/api/record-outcome", { conversation_id: "a", outcome: "failed" });
  expect(await usesOf(next)).toBe(0);
  expect(await scored("a")).toEqual({ scored: true });
  expect(await context("a")).toMatchObject({ scoring_required: true });
  expect(await scored("a")).toEqual({ scored: false });
  // Roampal's hooks also send an end with `lifecycle_only` for every turn. Such an end is not counted as a use of the memories.
  expect(await usesOf(await stop("b", { lifecycle_only: true }))).toBe(0);
  expect(await context("b")).toMatchObject({ scoring_required: true });
});

test("a score repeated in a turn files one summary and each fact once; a contradicting score is refused with the reason", async () => {
  await using palace = await withDoors(false);
  const ask = palace.socket;
  const context = (query: string) => told(ask, "/api/hooks/get-context", { query, conversation_id: "a" });
  await context("How is the key rotated?");
  const said = { user_message: "How is the key rotated?", assistant_response: "With keyctl." };
  const { doc_id: id } = await told(ask, "/api/hooks/stop", { conversation_id: "a", ...said });
  await context("Thanks");
  const facts = ["The key is rotated on Mondays.", "short"];
  const score = { outcome: "worked", exchange_summary: "rotate the key via keyctl", facts };
  const counts = async (): Promise<unknown> => (await told(ask, "/api/stats"))["collections"];
  for (const conversation_id of ["a", "default"])
    expect(await told(ask, "/api/record-outcome", { conversation_id, ...score })).toMatchObject({
      ...{ documents_scored: 0, summary_stored: true, facts_stored: 1 },
    });
  expect(await counts()).toMatchObject({ working: { count: 2 } });
  const found = await told(ask, "/api/search", { metadata_filters: { memory_type: "fact" } });
  expect(found).toMatchObject({ count: 1, results: [{ content: facts[0] }] });
  const other = await told(ask, "/api/record-outcome", { conversation_id: "a", outcome: "failed" });
  expect(other).toMatchObject({ documents_scored: 0, settled: [id], detail: expect.stringContaining(String(id)) });
  expect(await told(ask, "/api/search", { id })).toMatchObject({
    results: [{ uses: 1, metadata: { exchange_outcome: "worked", original_length: 54 } }],
  });
  const memory_scores = { [String(id)]: "failed" };
  expect(await told(ask, "/api/record-outcome", { conversation_id: "a", memory_scores })).toMatchObject({
    ...{ documents_scored: 0, settled: [id] },
  });
  // A summary of an unknown conversation becomes one memory, although it is sent twice.
  for (let times = 0; times < 2; times++)
    await told(ask, "/api/record-outcome", { conversation_id: "nobody", outcome: "worked", exchange_summary: "alone" });
  expect(await counts()).toMatchObject({ working: { count: 3 } });
  const tooMany = { outcome: "worked", facts: Array(101).fill("The key is rotated on Mondays.") };
  expect((await post(ask, "/api/record-outcome", tooMany)).status).toBe(422);
});

test("extra requests of newer and older Roampal clients are answered", async () => {
  await using palace = await withDoors(false);
  const ask = palace.socket;
  const { doc_id: id } = await told(ask, "/api/memory-bank/add", { content: "The oven is cleaned on Fridays." });
  const update = { id, new_content: "The oven is cleaned on Mondays.", tags: null, importance: null };
  expect(await told(ask, "/api/memory-bank/update", update)).toEqual({ success: true, doc_id: id });
  expect(await told(ask, "/api/search", { id })).toMatchObject({ results: [{ content: update.new_content }] });
  const { status, body } = await post(ask, "/api/memory-bank/update", { new_content: "x" });
  expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "old_content"] }] } });
  expect(await told(ask, "/api/memory/auto-summarize-one", {})).toEqual({ summarized: false, reason: "no_candidates" });
});

test("the end of a turn waits a moment for scores that are still arriving", async () => {
  await using palace = await withDoors(false);
  const ask = palace.socket;
  const said = { user_message: "how?", assistant_response: "so" };
  const context = () => told(ask, "/api/hooks/get-context", { query: "how?" });
  await context();
  await told(ask, "/api/hooks/stop", said);
  expect(await context()).toMatchObject({ scoring_required: true });
  const stopping = told(ask, "/api/hooks/stop", said);
  await delay(100);
  await told(ask, "/api/record-outcome", { outcome: "worked" });
  expect(await stopping).toMatchObject({ scoring_complete: true });
});

test("a request repeated with its key is done once, and undo reverts it", async () => {
  await using palace = await withDoors();
  const again = { ...palace.door, headers: { ...palace.door.headers, "idempotency-key": "k1" } };
  const first = await told(again, "/api/record-response", { key_takeaway: "once" });
  expect(await told(again, "/api/record-response", { key_takeaway: "once" })).toEqual(first);
  expect((await told(palace.door, "/api/stats"))["collections"]).toMatchObject({ working: { count: 1 } });
  const other = await post(again, "/api/record-response", { key_takeaway: "twice" });
  expect([other.status, other.body["detail"]]).toEqual([422, expect.stringContaining("key")]);
  const long = { ...palace.door, headers: { ...palace.door.headers, "idempotency-key": "k".repeat(201) } };
  expect((await post(long, "/api/record-response", { key_takeaway: "x" })).status).toBe(422);
  const undone = await palace.run("palace", ["undo", "--client", "program:http", "--since", "1h", "--yes"]);
  expect(undone.code, undone.stderr).toBe(0);
  expect((await told(palace.door, "/api/stats"))["collections"]).toMatchObject({ working: { count: 0 } });
});
