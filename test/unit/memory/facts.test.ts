import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { factStats, factTimeline, queryFacts } from "../../../src/memory/graph/facts.ts";
import { createGraphFixture, type GraphFixture } from "../../helpers/graph-fixture.ts";

type Shown = Record<string, unknown> & { facts: Record<string, unknown>[] };

const NOW = Date.parse("2026-01-01T00:00:00Z");
const JOB = { subject: "Alice", predicate: "works at", object: "Acme" };

let graph: GraphFixture;
beforeEach(() => {
  graph = createGraphFixture();
});
afterEach(() => graph[Symbol.dispose]());

const query = (values: Record<string, unknown>): Shown => queryFacts(graph.reader.graph, values, NOW) as Shown;
const objects = (list: unknown): unknown[] => (list as { object: unknown }[]).map(({ object }) => object);

describe("names in NFC and NFD", () => {
  const [composed, decomposed] = ["Zoë Müller".normalize("NFC"), "Zoë Müller".normalize("NFD")];

  it.each([
    [composed, decomposed],
    [decomposed, composed],
  ])("a name in NFC and in NFD is one entity, with the id of the first spelling", (first, other) => {
    graph.write("kg_add", { subject: first, predicate: "likes", object: "tea" });
    graph.write("kg_add", { subject: other, predicate: "likes", object: "soup" });
    for (const entity of [first, other]) {
      expect(objects(query({ entity }).facts)).toEqual(["tea", "soup"]);
      expect((factTimeline(graph.reader.graph, { entity }) as { total: number }).total).toBe(2);
    }
    expect(factStats(graph.reader.graph)).toMatchObject({ entities: 3, triples: 2 });
    graph.write("kg_invalidate", { subject: other, predicate: "likes", object: "tea", ended: "2025-06-01" });
    expect(factStats(graph.reader.graph)).toMatchObject({ current_facts: 1 });
    const { triple_id } = graph.write("kg_add", { subject: other, predicate: "has", object: "cat" }) as {
      triple_id: string;
    };
    expect(triple_id).toContain(`t_${first.toLowerCase().replace(" ", "_")}_has_`);
  });
});

describe("kg_add", () => {
  it("kg_add keeps the first spelling of a name, and makes upstream's ids", () => {
    graph.write("kg_add", { subject: "  Alice O'Brien Jr ", predicate: "Works At", object: "Dr. Chen" });
    expect(graph.write("kg_add", { subject: "ALICE obrien jr", predicate: "works_at", object: "DR. CHEN" })).toEqual({
      success: true,
      triple_id: expect.stringMatching(/^t_alice_obrien_jr_works_at_dr\._chen_[0-9a-f]{12}$/) as string,
      fact: "ALICE obrien jr → works_at → DR. CHEN",
    });
    const [fact] = query({ entity: "dr. chen" }).facts;
    expect(fact).toMatchObject({ direction: "incoming", subject: "Alice O'Brien Jr", predicate: "works_at" });
    expect(factStats(graph.reader.graph)).toMatchObject({ entities: 2, triples: 1 });
  });

  it("kg_add returns the open fact if it exists, and opens a new fact after the old fact has ended", () => {
    const first = graph.write("kg_add", { ...JOB, valid_from: "2025-01-01" }) as { triple_id: string };
    expect(graph.write("kg_add", { ...JOB, valid_from: "2024-01-01", valid_to: "2024-02-01" })).toMatchObject(first);
    graph.write("kg_invalidate", { ...JOB, ended: "2025-06-01" });
    const again = graph.write("kg_add", JOB, { atMs: 5 }) as { triple_id: string };
    expect(again.triple_id).not.toBe(first.triple_id);
    // Opening and ending a fact twice in one millisecond still makes two ids.
    graph.write("kg_invalidate", { ...JOB, ended: "2025-06-01" }, { atMs: 5 });
    const third = graph.write("kg_add", JOB, { atMs: 5 }) as { triple_id: string };
    const ids = [first, again, third].map((reply) => reply.triple_id);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^t_alice_works_at_acme_[0-9a-f]{12}$/);
  });

  it("a call of kg_add that repeats a key is done once and gets the same answer", () => {
    const first = graph.write("kg_add", JOB, { key: "k", atMs: 1 });
    graph.write("kg_invalidate", { ...JOB, ended: "2030-01-01" });
    expect(graph.write("kg_add", JOB, { key: "k", atMs: 9 })).toEqual(first);
    expect(factStats(graph.reader.graph)).toMatchObject({ triples: 1, current_facts: 0 });
  });

  it("a call of kg_add without a key is reported as a change and journaled", () => {
    const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
    const call = { key: "k", isRepeatable: false, method: "kg_add", params: JOB, peer, requestId: "r", atMs: 1 };
    expect(graph.writer.commit([call]).changes).toEqual({ added: 0, written: [], removed: [], graph: 3, closets: 0 });
    expect(graph.writer.commit([call]).outcomes[0]?.replayed).toBe(true);
    expect(graph.writer.commit([{ ...call, key: "again" }]).changes.graph).toBe(0);
  });

  it.each([
    [{ ...JOB, subject: " " }, "subject must be a non-empty string"],
    [{ ...JOB, object: 5 }, "object must be a non-empty string"],
    [{ ...JOB, object: "x".repeat(129) }, "object exceeds maximum length of 128 characters"],
    [{ ...JOB, subject: "a\0b" }, "subject contains null bytes"],
    [{ ...JOB, predicate: "a/b" }, "predicate contains invalid path characters"],
    [{ ...JOB, predicate: "_a" }, "predicate contains invalid characters"],
  ])("kg_add answers an invalid value with an error %#", (params, error) => {
    expect(graph.write("kg_add", params)).toEqual({ success: false, error });
    expect(graph.reader.graph.isEmpty()).toBe(true);
  });

  it("kg_add fails on an interval that ends before it starts", () => {
    expect(graph.write("kg_add", { ...JOB, valid_from: "2025-02-01", valid_to: "2025-01-01" })).toMatchObject({
      message: "Internal tool error",
      data: {
        error_class: "ValueError",
        message:
          "valid_to='2025-01-01' is before valid_from='2025-02-01'; an inverted interval would be invisible to every KG query",
      },
    });
  });
});

describe("kg_invalidate and kg_supersede", () => {
  it("kg_invalidate ends an open fact once, and also succeeds without an open fact", () => {
    graph.write("kg_add", { ...JOB, valid_from: "2025-01-01" });
    expect(graph.write("kg_invalidate", { ...JOB, object: "Nobody", ended: "2025-06-01" })).toMatchObject({
      success: true,
    });
    expect(graph.write("kg_invalidate", JOB, { atMs: new Date(2025, 5, 7).getTime() })).toEqual({
      success: true,
      fact: "Alice → works at → Acme",
      ended: "2025-06-07",
    });
    graph.write("kg_invalidate", { ...JOB, ended: "2025-12-01" });
    expect(query({ entity: "Alice" }).facts[0]).toMatchObject({ valid_to: "2025-06-07", current: false });
  });

  it("kg_invalidate and kg_supersede change no fact if the end is before the start", () => {
    graph.write("kg_add", { ...JOB, valid_from: "2025-02-01" });
    const words = "is before valid_from='2025-02-01'; an inverted interval would be invisible to every KG query";
    expect(graph.write("kg_invalidate", { ...JOB, ended: "2025-01-01" })).toMatchObject({
      data: { message: `valid_to='2025-01-01' ${words}` },
    });
    const change = {
      subject: "Alice",
      predicate: "works at",
      old_object: "Acme",
      new_object: "Globex",
      at: "2025-01-01",
    };
    expect(graph.write("kg_supersede", change)).toMatchObject({
      data: { message: `at='2025-01-01T00:00:00Z' ${words}` },
    });
    expect(factStats(graph.reader.graph)).toMatchObject({ entities: 2, triples: 1, current_facts: 1 });
  });

  it("at the moment of a change only the new fact is valid", () => {
    graph.write("kg_add", JOB);
    const change = { subject: "Alice", predicate: "works at", old_object: "acme", new_object: "Globex" };
    expect(graph.write("kg_supersede", { ...change, at: "2025-06-01" })).toMatchObject({
      success: true,
      fact: "Alice → works at → Globex",
      superseded: "acme",
    });
    expect(objects(query({ entity: "Alice", as_of: "2025-06-01" }).facts)).toEqual(["Globex"]);
    expect(objects(query({ entity: "Alice", as_of: "2025-05-31T23:59:59Z" }).facts)).toEqual(["Acme"]);
    graph.write("kg_supersede", { ...change, old_object: "Globex", new_object: "Initech" }, { atMs: NOW });
    expect(query({ entity: "Initech" }).facts[0]).toMatchObject({ valid_from: "2026-01-01T00:00:00Z" });
  });

  it("a supersede without an old fact opens the new fact, and makes no entity for the old object", () => {
    graph.write("kg_supersede", { subject: "Alice", predicate: "likes", old_object: "tea", new_object: "coffee" });
    expect(factStats(graph.reader.graph)).toMatchObject({ entities: 2, triples: 1, current_facts: 1 });
  });
});

describe("kg_query", () => {
  it("kg_query separates past, present and future facts, and with `as_of` lists every fact of that moment as active", () => {
    graph.write("kg_add", { ...JOB, object: "Past", valid_to: "2025-01-01" });
    graph.write("kg_add", { ...JOB, object: "Present" });
    graph.write("kg_add", { ...JOB, object: "Future", valid_from: "2027-01-01" });
    const all = query({ entity: "Alice" });
    expect([all["historical_facts"], all["active_facts"], all["future_facts"]].map(objects)).toEqual([
      ...[["Past"], ["Present"], ["Future"]],
    ]);
    expect(all["count"]).toBe(3);
    const then = query({ entity: "Alice", as_of: "2024-01-01" });
    expect([then["historical_facts"], then["active_facts"]].map(objects)).toEqual([[], ["Past", "Present"]]);
  });

  it("kg_query shows a fact whose subject is also its object in both directions, or in the requested direction", () => {
    graph.write("kg_add", { subject: "Narcissus", predicate: "loves", object: "Narcissus" });
    expect(query({ entity: "Narcissus" }).facts.map(({ direction }) => direction)).toEqual(["outgoing", "incoming"]);
    expect(query({ entity: "Narcissus", direction: "incoming" }).facts).toHaveLength(1);
    expect(() => query({ entity: "Narcissus", direction: "up" })).toThrow(
      "direction must be 'outgoing', 'incoming', or 'both'",
    );
  });

  it("kg_query resolves a word to the only entity with this word in its name, and lists several entities as candidates", () => {
    graph.write("kg_add", { subject: "Alice Smith", predicate: "likes", object: "tea_100%" });
    expect(query({ entity: "smith" })).toMatchObject({ entity: "Alice Smith", resolved_from: "smith", count: 1 });
    expect(query({ entity: "mit" })).not.toHaveProperty("candidates");
    graph.write("kg_add", { subject: "Bob Smith", predicate: "likes", object: "tea" });
    expect(query({ entity: "Smith" })).toMatchObject({
      entity: "Smith",
      count: 0,
      candidates: [
        { id: "alice_smith", name: "Alice Smith" },
        { id: "bob_smith", name: "Bob Smith" },
      ],
    });
    // An exact name is chosen before names that contain it.
    graph.write("kg_add", { subject: "Smith", predicate: "is", object: "a name" });
    expect(query({ entity: "Smith", as_of: "" })).toMatchObject({ entity: "Smith", count: 1 });
    // Carol is chosen by her exact name, although she has no facts in 2024.
    graph.write("kg_add", { subject: "Carol", predicate: "likes", object: "tea", valid_from: "2025-01-01" });
    graph.write("kg_add", { subject: "Carol Jones", predicate: "likes", object: "tea" });
    expect(query({ entity: "Carol", as_of: "2024-01-01" })).toMatchObject({
      ...{ entity: "Carol", count: 0, candidates: [{ id: "carol_jones", name: "Carol Jones" }] },
    });
    expect(query({ entity: "%" })).toMatchObject({ count: 0 });
    expect(query({ entity: "10_" })).not.toHaveProperty("candidates");
  });
});

it("kg_timeline lists facts page by page in the order of their start, with unknown starts last", () => {
  const starts = ["2025-03-01", undefined, "2025-01-01", "2025-02-01"];
  starts.forEach((valid_from, index) => graph.write("kg_add", { ...JOB, object: `o${index}`, valid_from }));
  const page = (values: Record<string, unknown>) => factTimeline(graph.reader.graph, values) as Record<string, unknown>;
  expect(objects(page({})["timeline"])).toEqual(["o2", "o3", "o0", "o1"]);
  expect(page({ limit: 2, offset: 3, entity: "alice" })).toEqual({
    entity: "alice",
    timeline: [
      { subject: "Alice", predicate: "works_at", object: "o1", valid_from: null, valid_to: null, current: true },
    ],
    count: 1,
    total: 4,
    offset: 3,
    limit: 2,
  });
  expect(page({ limit: 0 })["count"]).toBe(1);
  expect(page({ entity: "nobody" })).toMatchObject({ timeline: [], total: 0 });
  expect(() => page({ entity: "" })).toThrow("entity must be a non-empty string");
});
