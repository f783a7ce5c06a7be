import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { type Ask, get, type Memory, post, told, withDoors } from "../../helpers/outcome-http.ts";

test("the profile comes from the request, the request's folder or Roampal's settings; an unknown profile is refused", async () => {
  await using palace = await withDoors(false);
  const settings = join(palace.home, ".config/roampal");
  const registry = join(settings, "profiles.json");
  const work = join(palace.home, "work");
  mkdirSync(join(work, "app/öl"), { recursive: true });
  mkdirSync(join(work, "free"));
  symlinkSync(join(work, "app"), join(palace.home, "link"));
  mkdirSync(settings, { recursive: true });
  const ask = async (headers: Record<string, string>): Promise<{ status: number; detail: unknown }> => {
    const body = { content: "WORK secret: the client is Contoso" };
    const answer = await post({ ...palace.socket, headers }, "/api/memory-bank/add", body);
    return { status: answer.status, detail: answer.body["detail"] };
  };
  const inFolder = (...path: string[]): ReturnType<typeof ask> =>
    ask({ "x-roampal-cwd": encodeURIComponent(join(palace.home, ...path)) });

  const unknown = { status: 404, detail: expect.stringContaining('Profile "work" is not registered') };
  expect(await ask({ "x-roampal-profile": "work" })).toEqual(unknown);
  expect(await inFolder("work")).toMatchObject({ status: 200 });
  writeFileSync(
    registry,
    JSON.stringify({ work: null, bindings: { [work]: "work", [join(work, "free")]: "default" } }),
  );
  expect(await ask({ "x-roampal-profile": " work " })).toMatchObject({ status: 200 });
  for (const name of ["bindings", "constructor", "Work", "!"])
    expect(await ask({ "x-roampal-profile": name })).toMatchObject({ status: 404 });
  for (const path of [["work"], ["work", "app", "öl"], ["link"]])
    expect(await inFolder(...path)).toMatchObject({ status: 200 });
  // If several folders have a profile, the closest one decides. A profile that the request names wins over all folders.
  expect(await inFolder("work", "free")).toMatchObject({ status: 200 });
  expect(await inFolder("elsewhere")).toMatchObject({ status: 200 });
  const named = { "x-roampal-profile": "default", "x-roampal-cwd": encodeURIComponent(work) };
  expect(await ask(named)).toMatchObject({ status: 200 });
  // With a half-written registry the broker cannot know a named profile, so it answers 503. `default` needs no registry.
  writeFileSync(registry, '{"work": nu');
  expect(await ask({ "x-roampal-profile": "work" })).toMatchObject({ status: 503 });
  expect(await inFolder("work")).toMatchObject({ status: 503, detail: expect.stringContaining(registry) });
  expect(await ask({ "x-roampal-profile": "default" })).toMatchObject({ status: 200 });
  rmSync(registry);
  expect(await ask({ "x-roampal-profile": "work" })).toEqual(unknown);
  // `roampal profile use work` sets the profile of requests without a profile.
  writeFileSync(join(settings, "active_profile"), "work\n");
  expect(await ask({})).toMatchObject({ status: 404 });
  expect(await ask({ "x-roampal-profile": "default" })).toMatchObject({ status: 200 });
  expect((await get(palace.socket, "/api/health")).status).toBe(200);
  writeFileSync(registry, '{"work": null}');
  expect(await ask({})).toMatchObject({ status: 200 });
  expect(await told(palace.socket, "/api/stats")).toMatchObject({ collections: { memory_bank: { count: 5 } } });
  rmSync(join(settings, "active_profile"));
  expect(await told(palace.socket, "/api/stats")).toMatchObject({ collections: { memory_bank: { count: 6 } } });
});

const QUESTION = "Why does the zeppelin hangar deploy fail with exit code 23?";
const TITLE = "Handbook of hangars";

test("a profile never searches, shows, scores, counts or deletes another profile's memories", async () => {
  await using palace = await withDoors();
  const settings = join(palace.home, ".config/roampal");
  mkdirSync(settings, { recursive: true });
  // Roampal gives the last two profiles the same folder.
  const names = ["default", "work", "My home", "my-home"] as const;
  writeFileSync(
    join(settings, "profiles.json"),
    JSON.stringify({ work: null, "My home": "/srv/home", "my-home": null }),
  );
  const as = (name: string): Ask => ({ ...palace.socket, headers: { "x-roampal-profile": name } });
  const search = async (name: string, asked: object): Promise<Memory[]> =>
    (await told(as(name), "/api/search", asked))["results"] as Memory[];
  const counts = async (name: string): Promise<unknown> => (await told(as(name), "/api/stats"))["collections"];

  const made = new Map<string, { fact: string; exchange: string; book: string }>();
  for (const name of names) {
    const fact = (await told(as(name), "/api/memory-bank/add", { content: `The client of ${name} is Contoso` }))[
      "doc_id"
    ];
    const { doc_ids } = await told(as(name), "/api/ingest", {
      title: TITLE,
      content: `Hangars of ${name} are made of steel`,
    });
    const talk = { conversation_id: "c1" };
    const first = await told(as(name), "/api/hooks/get-context", { ...talk, query: QUESTION });
    for (const other of names.filter((one) => one !== name))
      expect(JSON.stringify(first), `${name} is shown a memory of ${other}`).not.toContain(`of ${other} `);
    expect(first, "this conversation has no earlier turn").toMatchObject({ scoring_required: false });
    const said = { user_message: QUESTION, assistant_response: `Because the hangar of ${name} is locked` };
    const { doc_id: exchange } = await told(as(name), "/api/hooks/stop", { ...talk, ...said });
    made.set(name, { fact: String(fact), exchange: String(exchange), book: String((doc_ids as string[])[0]) });
  }
  const [mine, theirs] = [made.get("default")!, made.get("work")!];
  expect(new Set([...made.values()].flatMap((one) => Object.values(one))).size, "no id is given twice").toBe(12);

  // Both profiles have a conversation `c1`. The broker asks about the turn of `work`, so a score from `default` does not count for it.
  const asked = await told(as("work"), "/api/hooks/get-context", { conversation_id: "c1", query: "It works now" });
  expect(asked).toMatchObject({
    scoring_required: true,
    scoring_exchange: { assistant: expect.stringContaining("of work") },
  });
  const scores = { outcome: "worked", memory_scores: { [theirs.exchange]: "worked", [theirs.fact]: "failed" } };
  const summary = { exchange_summary: "The hangar was locked", facts: ["The hangar is locked on Sundays"] };
  expect(await told(as("default"), "/api/record-outcome", { ...scores, conversation_id: "c1" })).toMatchObject({
    documents_scored: 0,
  });
  expect(await told(as("default"), "/api/hooks/check-scored?conversation_id=c1")).toEqual({ scored: false });
  for (const name of ["default", "My home"])
    expect(
      await told(as(name), "/api/record-outcome", { outcome: "failed", conversation_id: "mcp_agent" }),
    ).toMatchObject({
      documents_scored: 0,
    });
  const work = { ...scores, ...summary, conversation_id: "c1" };
  expect(await told(as("work"), "/api/record-outcome", work)).toMatchObject({ documents_scored: 2, facts_stored: 1 });
  expect(await told(as("work"), "/api/hooks/check-scored?conversation_id=c1")).toEqual({ scored: true });
  for (const name of names)
    expect(
      await told(as(name), "/api/record-outcome", { outcome: "worked", ...summary, conversation_id: "c9" }),
    ).toMatchObject({ success: true });

  // Searches find only a profile's own memories, and a score in one profile counts no use in another.
  for (const name of names) {
    const found = await search(name, { query: QUESTION, limit: 50 });
    expect(found.length).toBeGreaterThan(0);
    for (const { content } of [...found, ...(await search(name, { query: "", limit: 500 }))])
      for (const other of names.filter((one) => one !== name)) expect(content).not.toContain(`of ${other} `);
    const uses = found.map(({ uses }) => uses).reduce((sum, one) => sum + one, 0);
    if (name === "work") expect(uses).toBeGreaterThan(0);
    else expect(uses).toBe(0);
  }

  // An id of another profile is unknown.
  for (const id of Object.values(mine)) {
    expect(await search("default", { id })).toHaveLength(1);
    for (const other of ["work", "My home", "my-home"]) expect(await search(other, { id })).toEqual([]);
  }
  for (const id of Object.values(theirs)) expect(await search("default", { id })).toEqual([]);
  const content = { doc_id: theirs.exchange, collection: "working", new_content: "Overwritten" };
  for (const name of ["default", "my-home"])
    expect((await post(as(name), "/api/memory/update-content", content)).status).toBe(404);
  for (const name of ["default", "my-home"]) {
    const fact = { content: "The client of work is Contoso" };
    await post(as(name), "/api/memory-bank/archive", { content: theirs.fact });
    await post(as(name), "/api/memory-bank/update", { id: theirs.fact, new_content: "Overwritten" });
    expect(await search("work", { id: theirs.fact }), fact.content).toMatchObject([fact]);
  }

  // Agents' tools use the profile `default`.
  const call = async (tool: string, given: object): Promise<string> =>
    (await palace.run("palace", ["call", tool, JSON.stringify(given)])).stdout;
  expect(await call("search_memory", { id: mine.fact })).toContain("The client of default");
  expect(await call("search_memory", { id: theirs.fact, profile: "work" })).toContain("not found");
  expect(await call("search_memory", { query: QUESTION, limit: 20, profile: "work" })).not.toContain("of work");
  await call("score_memories", { memory_scores: { [theirs.exchange]: "failed" }, profile: "work" });
  await call("delete_memory", { content: theirs.fact, profile: "work" });
  expect(await search("work", { id: theirs.exchange })).toMatchObject([{ outcome_history: "[Y]" }]);
  expect(await search("work", { id: theirs.fact })).toHaveLength(1);
  expect((await palace.run("mempalace", ["wake-up"])).stdout).not.toMatch(/of (?:work|default)/);

  // An idempotency key used in one profile is refused in another.
  const keyed = (name: string): Ask => ({
    ...as(name),
    headers: { ...as(name).headers, "idempotency-key": "key-of-work" },
  });
  const once = { content: "The office of work is in Lakehurst" };
  const { doc_id: kept } = await told(keyed("work"), "/api/memory-bank/add", once);
  expect(await told(keyed("work"), "/api/memory-bank/add", once)).toMatchObject({ doc_id: kept });
  expect((await post(keyed("my-home"), "/api/memory-bank/add", once)).status).toBe(422);

  // Each profile has its own book with the same title.
  expect(await told(as("work"), "/api/remove-book", { title: TITLE })).toMatchObject({ removed: 1 });
  expect(await told(as("work"), "/api/books")).toMatchObject({ books: [] });
  for (const name of ["default", "My home", "my-home"])
    expect(await told(as(name), "/api/books")).toMatchObject({ books: [{ title: TITLE, chunk_count: 1 }] });
  expect(await counts("work")).toMatchObject({ books: { count: 0 } });
  expect(await counts("My home")).toMatchObject({ books: { count: 1 } });

  // An unregistered profile keeps its memory, and forget removes its drawers like any other.
  writeFileSync(join(settings, "profiles.json"), "{}");
  expect((await post(as("work"), "/api/search", { query: "client" })).status).toBe(404);
  const { code, stderr } = await palace.run("palace", ["forget", "--match", "Contoso", "--yes"]);
  expect(code, stderr).toBe(0);
  writeFileSync(join(settings, "profiles.json"), '{"work": null}');
  expect(await search("work", { id: theirs.fact })).toEqual([]);
  expect(await search("work", { id: String(kept) })).toHaveLength(1);
});

test("a Roampal data folder can be imported into a profile, and a profile can be exported", async () => {
  await using palace = createTestPalace();
  const settings = join(palace.home, ".config/roampal");
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, "profiles.json"), '{"work": null, "home": null}');
  const as = (name: string): Ask => ({
    at: palace.config.paths.socketPath,
    headers: { "x-roampal-profile": name },
  });
  const outcome = async (...args: string[]): Promise<{ code: number | null; document: Record<string, unknown> }> => {
    const { code, stdout } = await palace.run("palace", ["outcome", ...args, "--json"]);
    return { code, document: JSON.parse(stdout) as Record<string, unknown> };
  };
  const facts = async (name: string): Promise<unknown[]> =>
    ((await told(as(name), "/api/search", { query: "", limit: 50 }))["results"] as Memory[]).map(
      ({ content }) => content,
    );
  await palace.startBroker();
  const [fact, kept] = ["The client of work is Contoso", "The client of all is Fabrikam"];
  await told(as("work"), "/api/memory-bank/add", { content: fact });
  await told(as("work"), "/api/ingest", { title: TITLE, content: "Hangars are made of steel" });
  await told(as("default"), "/api/memory-bank/add", { content: kept });
  const dir = join(palace.home, "exported");
  expect((await outcome("export", dir, "--profile", "work")).document).toMatchObject({ memories: 2 });
  // Another profile already has these ids, and the import must not change its memories.
  const twice = await outcome("import", dir, "--profile", "home");
  expect(twice.document).toMatchObject({ added: 0, refused: [{}, {}] });
  expect(await facts("home")).toEqual([]);
  expect((await palace.run("palace", ["forget", "--match", "Contoso", "--yes"])).code).toBe(0);
  expect(await facts("work")).toEqual(["Hangars are made of steel"]);
  expect((await outcome("import", dir, "--profile", "work")).document).toMatchObject({ added: 1, unchanged: 1 });
  expect(await facts("work")).toEqual(expect.arrayContaining([fact, "Hangars are made of steel"]));
  expect(await facts("default")).toEqual([kept]);
  for (const args of [
    ["import", dir, "--profile", "unknown"],
    ["import", "--profile", "work"],
    ["stats", "--profile", "work"],
  ])
    expect((await palace.run("palace", ["outcome", ...args])).code, args.join(" ")).toBe(2);
});
