/** Compares answers about drawers in slices. Every tool must treat the slices of a drawer as one drawer, whichever version cut them. */
import { describe, test } from "vitest";
import { mempalaceMissing } from "../helpers/python-mempalace.ts";
import { expectAnsweredAlike, type ToolCall } from "./given-palace.ts";

/** Makes rows in an order that differs from the order of their ids and of their texts. */
const MAKE = `
import chromadb, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
collection = chromadb.PersistentClient(sys.argv[1]).create_collection("mempalace_drawers",
  embedding_function=DefaultEmbeddingFunction(), metadata={"hnsw:space": "cosine"})
rows = []
def row(id, text, wing="w1", room="r1", day=1, **more):
    rows.append((id, text, {"wing": wing, "room": room, "source_file": "", "added_by": "mcp", "id_recipe": "v3",
      "filed_at": f"2026-01-{day:02d}T10:00:00", **more}))
row("zebra", "a drawer of its own")
for n in (2, 0, 1):
    row(f"long_chunk_{n:06d}", f"part {n} of the long one. " * 20, chunk_index=n, parent_drawer_id="long", day=3)
row("apple", "another of its own", wing="w2", day=2)
for n in (1, 0, 2):
    row(f"old diary {n}", f"entry, part {n}. ", wing="wing_me", room="diary", chunk_index=n, parent_entry_id="diary_old",
      agent="me", type="diary_entry", topic="t", date="2026-01-04", day=4)
row("both", "the row under the id itself", day=5)
for n in (0, 1):
    row(f"both_chunk_{n:06d}", f"slice {n} ", chunk_index=n, parent_drawer_id="both", day=5)
for n, wing in enumerate(["w1", "w2", "w2"]):
    row(f"spread_chunk_{n:06d}", f"spread {n} ", wing=wing, chunk_index=n, parent_drawer_id="spread", day=6 + n)
row("mixed key 1", "under the second key ", chunk_index=0, parent_drawer_id="", parent_entry_id="mixed", day=9)
row("mixed key 2", "under both keys", chunk_index=1, parent_drawer_id="mixed", parent_entry_id="mixed", day=9)
row("no order b", "second by id", parent_drawer_id="unordered", day=10)
row("no order a", "first by id ", parent_drawer_id="unordered", day=10)
row("text order", "an index in words", chunk_index="1", parent_drawer_id="texts", day=11)
row("text order 0", "the first of the words ", chunk_index="0", parent_drawer_id="texts", day=12)
for n in range(3):
    row(f"twice_chunk_{n:06d}", f"entry, part {n}. ", wing="wing_me", room="diary", chunk_index=n, parent_entry_id="twice",
      parent_drawer_id="twice", agent="me", type="diary_entry", topic="t", date="2026-01-05", day=5)
for n in range(2):
    row(f"loose_chunk_{n:06d}", f"names nobody {n}", room="diary", agent="me", type="diary_entry", day=13)
for name in ("\\u00e9", "z\\U0001F600", "z\\uFF5E", "Z"):
    row(name, "in the order of its id", wing="names", day=14)
ids, texts, metadatas = zip(*rows)
# Chroma keeps these beside the metadata, under a key of its own.
uris = [f"file:///of/{n}" for n in range(len(rows))]
vectors = DefaultEmbeddingFunction()(list(texts))
collection.add(ids=list(ids), documents=list(texts), metadatas=list(metadatas), embeddings=vectors, uris=uris)
`;

/** Makes a palace of MemPalace 3.6, whose rows name no id recipe. The slices of a diary entry name the entry by one key only. */
const OLDER = `
import chromadb, sys
from chromadb.utils.embedding_functions import DefaultEmbeddingFunction
collection = chromadb.PersistentClient(sys.argv[1]).create_collection("mempalace_drawers",
  embedding_function=DefaultEmbeddingFunction(), metadata={"hnsw:space": "cosine"})
entry = "diary_wing_lily_20260808_142113121027_3e4c74763d73"
texts = ["first ", "second ", "third", "a drawer of its own"]
common = {"filed_at": "2026-08-08T14:21:13", "source_file": "", "added_by": "mcp"}
slices = [{**common, "wing": "wing_lily", "room": "diary", "type": "diary_entry", "agent": "lily", "chunk_index": n,
  "parent_entry_id": entry} for n in range(3)]
collection.add(ids=[f"{entry}_chunk_{n:06d}" for n in range(3)] + ["drawer_w_r_0123456789abcdef01234567"], documents=texts,
  metadatas=[*slices, {**common, "wing": "w", "room": "r", "chunk_index": 0}], embeddings=DefaultEmbeddingFunction()(texts))
`;
const ENTRY = "diary_wing_lily_20260808_142113121027_3e4c74763d73";

const DRAWERS = ["long", "diary_old", "both", "spread", "mixed", "unordered", "texts", "zebra", "long_chunk_000001"];

const LISTS: readonly ToolCall[] = [
  {},
  { limit: 3 },
  { limit: 3, offset: 3 },
  { limit: 3, offset: 8 },
  { offset: 100 },
  { wing: "w1" },
  { wing: "w2" },
  { wing: "w2", limit: 1, offset: 1 },
  { room: "r1" },
  { room: "diary" },
  { wing: "w1", room: "r1" },
  { wing: "none" },
  { wing: "names" },
  { wing: "names", limit: 2, offset: 2 },
  { since: "2026-01-03" },
  { since: "2026-01-03", before: "2026-01-06" },
  { since: "2026-01-07" },
  { since: "2026-01-07", wing: "w2" },
  { before: "2026-01-07", wing: "w2" },
  { since: "2026-01-11", before: "2026-01-12" },
].map((args) => ["list_drawers", args]);

const CALLS: readonly ToolCall[] = [
  ...LISTS,
  ...DRAWERS.map((id): ToolCall => ["get_drawer", { drawer_id: id }]),
  ["get_drawers", { drawer_ids: DRAWERS }],
  ["diary_read", { agent_name: "me" }],
  ["update_drawer", { drawer_id: "long", content: "short by now" }],
  ["update_drawer", { drawer_id: "diary_old", room: "kept" }],
  ["update_drawer", { drawer_id: "both", content: "the row alone is changed" }],
  ["update_drawer", { drawer_id: "mixed", content: "many words ".repeat(400) }],
  // Cutting a slice again makes it belong to two drawers.
  ["update_drawer", { drawer_id: "twice_chunk_000001", content: "cut again ".repeat(200) }],
  ...["twice", "twice_chunk_000001", "loose", "loose_chunk_000001"].map((id): ToolCall => [
    "get_drawer",
    { drawer_id: id },
  ]),
  ["list_drawers", { room: "diary" }],
  ["update_drawer", { drawer_id: "twice", room: "kept" }],
  ["get_drawer", { drawer_id: "twice_chunk_000001" }],
  ["list_drawers", { room: "kept" }],
  ["delete_drawer", { drawer_id: "twice" }],
  ["delete_drawer", { drawer_id: "spread" }],
  ["delete_drawer", { drawer_id: "both" }],
  ["delete_drawers", { drawer_ids: ["unordered", "nowhere"] }],
  ...LISTS,
  ...DRAWERS.map((id): ToolCall => ["get_drawer", { drawer_id: id }]),
  ["delete_drawer", { drawer_id: "both" }],
  ["list_drawers", {}],
];

const missing = await mempalaceMissing("3.11.0");

describe.skipIf(missing !== undefined)(
  `MemPalace 3.11.0${missing === undefined ? "" : ` (left out: ${missing})`}`,
  () => {
    test(
      "a drawer in slices of any version is listed, read, changed and deleted as one drawer",
      { timeout: 180_000 },
      () => expectAnsweredAlike("3.11.0", MAKE, CALLS),
    );

    test("a diary entry in slices of an older version is read as one entry", { timeout: 180_000 }, () =>
      expectAnsweredAlike("3.11.0", OLDER, [
        ["list_drawers", {}],
        ["list_drawers", { wing: "wing_lily", room: "diary" }],
        ["get_drawer", { drawer_id: ENTRY }],
        ["diary_read", { agent_name: "lily" }],
        ["delete_drawer", { drawer_id: ENTRY }],
        ["list_drawers", {}],
      ]),
    );
  },
);
