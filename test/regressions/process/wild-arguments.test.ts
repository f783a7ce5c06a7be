/** Arguments of the wrong type got an untyped "Internal tool error" or no answer. Found by the fuzzing of JSON-RPC. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dial } from "../../../src/wire/transport/endpoint.ts";
import { upgrade } from "../../../src/wire/transport/http-client.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const SOURCE = { wing: "w", room: "r", sourceFile: "/f", content: "text", sha256: "0", mtime: 1, addedBy: "t" };
/** Object that JavaScript cannot convert to a string. */
const WILD = '{"toString":1,"valueOf":1}';

const source = (change: object): string => JSON.stringify({ ...SOURCE, ...change });
const tool = (name: string, args: string): string => `{"name":"mempalace_${name}","arguments":${args}}`;

const BAD_PARAMS = { error: { data: { code: "PROTOCOL_BAD_PARAMS" } } };
const NOT_FOUND = expect.stringContaining("Drawer not found") as string;

let palace: TestPalace;
let stream: Socket;
beforeAll(async () => {
  palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "there is a palace" });
  client.close();
  stream = await dial({ kind: "unix", path: palace.config.paths.socketPath });
  await upgrade(stream, {});
});
afterAll(async () => {
  stream.destroy();
  await palace[Symbol.asyncDispose]();
});

test.each([
  ["source.replace", source({ wing: "a/b" }), BAD_PARAMS],
  ["source.replace", source({ sourceFile: 5 }), BAD_PARAMS],
  ["source.replace", source({ mtime: 0 }).replace('"mtime":0', `"mtime":${WILD}`), BAD_PARAMS],
  ["source.replace", source({ content: "x ".repeat(3_000_000) }), BAD_PARAMS],
  ["source.remove", "{}", BAD_PARAMS],
  ["conversation.replace", source({ texts: ["x"], from: 1e300, total: 1e300 }), BAD_PARAMS],
  ["conversation.replace", source({ texts: ["x".repeat(100_001)], from: 0, total: 1 }), BAD_PARAMS],
  ["conversation.replace", source({ texts: Array(1001).fill("x"), from: 0, total: 1001 }), BAD_PARAMS],
  ["conversation.replace", source({ texts: ["x"], from: 0, total: WILD }), BAD_PARAMS],
  [
    "source.replace",
    '{"wing":"w","room":"r","sourceFile":"/a","content":"x","sha256":"x","mtime":1,"drawersMax":-1}',
    BAD_PARAMS,
  ],
  [
    "source.replace",
    '{"wing":"w","room":"r","sourceFile":"/a","content":"x","sha256":"x","mtime":1,"knownNames":[5]}',
    BAD_PARAMS,
  ],
  ["closet.rebuild", "{}", BAD_PARAMS],
  ["closet.rebuild", '{"sourceFiles":["/a",5]}', BAD_PARAMS],
  ["closet.rebuild", `{"sourceFiles":${JSON.stringify(Array(11).fill("/a"))}}`, BAD_PARAMS],
  ["closet.compress", "{}", BAD_PARAMS],
  ["closet.compress", '{"ids":["a"],"names":[["b"]]}', BAD_PARAMS],
  ["closet.compress", `{"ids":${JSON.stringify(Array(201).fill("a"))}}`, BAD_PARAMS],
  ["closet.compressPreview", `{"offset":${WILD}}`, BAD_PARAMS],
  ["closet.compressPreview", '{"offset":0,"wing":""}', BAD_PARAMS],
  ["link.rebuild", "{}", BAD_PARAMS],
  ["link.rebuild", '{"wing":"w","topics":{"w":[5]}}', BAD_PARAMS],
  ["link.rebuild", `{"wing":"w","topics":${WILD}}`, BAD_PARAMS],
  ["closet.sources", `{"wing":${WILD}}`, BAD_PARAMS],
  ["source.list", `{"wing":${WILD}}`, BAD_PARAMS],
  ["drawer.search", `{"query":${WILD}}`, BAD_PARAMS],
  ["drawer.search", '{"query":"x","wing":5}', BAD_PARAMS],
  ["drawer.show", `{"id":${WILD}}`, BAD_PARAMS],
  ["drawer.list", `{"wing":${WILD}}`, BAD_PARAMS],
  ["tools/call", tool("get_drawer", `{"drawer_id":${WILD}}`), { result: { content: [{ text: NOT_FOUND }] } }],
  ["tools/call", tool("delete_drawer", `{"drawer_id":${WILD}}`), { result: { content: [{ text: NOT_FOUND }] } }],
  ["tools/call", tool("update_drawer", `{"drawer_id":${WILD},"room":"r"}`), { result: {} }],
  ["tools/call", tool("search", `{"query":${WILD}}`), { error: { code: -32000 } }],
  ["tools/call", tool("mine", `{"source":${WILD}}`), { result: {} }],
  ["tools/call", tool("mine", `{"source":"/none","mode":${WILD}}`), { result: {} }],
  ["tools/call", tool("mine", `{"source":"/none","mode":"convos","extract":${WILD}}`), { result: {} }],
  ["tools/call", tool("search", `{"query":"x","now":${WILD},"neighbors":${WILD}}`), { error: { code: -32602 } }],
  ["tools/call", tool("search", `{"query":"x","now":${WILD},"explain":${WILD}}`), { result: {} }],
  ["job.start", `{"kind":${WILD}}`, BAD_PARAMS],
  ["job.start", `{"kind":"export","dir":${WILD}}`, BAD_PARAMS],
  ["job.cancel", `{"id":${WILD}}`, BAD_PARAMS],
  ["drawer.reveal", `{"id":${WILD}}`, BAD_PARAMS],
  ["memory.forgetPreview", `{"ids":[${WILD}]}`, BAD_PARAMS],
  ["memory.forget", `{"match":${WILD}}`, BAD_PARAMS],
  ["memory.audit", `{"agent":${WILD},"limit":1}`, BAD_PARAMS],
  ["memory.undoPreview", `{"agent":${WILD},"sinceMs":0,"untilMs":1}`, BAD_PARAMS],
  ["memory.undo", `{"agent":"a","sinceMs":${WILD},"untilMs":1}`, BAD_PARAMS],
  ["memory.undo", `{"agent":"a","sinceMs":0,"untilMs":1,"seq":${WILD}}`, BAD_PARAMS],
  ["memory.erasure", `{"waitMs":${WILD}}`, { result: {} }],
  ["message.add", `{"sourceFile":"/f","messages":[${WILD}]}`, BAD_PARAMS],
  ["palace.wakeUp", `{"wing":${WILD}}`, BAD_PARAMS],
  ["palace.wakeUp", `{"project":[${WILD}]}`, BAD_PARAMS],
  ["turn.begin", `{"conversation":${WILD},"prompt":"x"}`, BAD_PARAMS],
  ["turn.begin", `{"conversation":"a","prompt":${WILD}}`, BAD_PARAMS],
  ["turn.begin", `{"conversation":"a","prompt":"x","project":${WILD}}`, BAD_PARAMS],
  ["turn.end", `{"conversation":"a","user":${WILD},"assistant":"x"}`, BAD_PARAMS],
  ["turn.end", `{"conversation":"a","user":"x","assistant":"y","project":${WILD}}`, BAD_PARAMS],
  ["turn.end", `{"conversation":"a","user":"x","assistant":"y","signals":[${WILD}]}`, BAD_PARAMS],
  ["book.ingest", `{"title":${WILD},"source":"","content":"x"}`, BAD_PARAMS],
  ["book.ingest", `{"title":"t","source":"","content":${WILD}}`, BAD_PARAMS],
  ["book.remove", `{"title":${WILD}}`, BAD_PARAMS],
  ["outcome.why", `{"id":${WILD}}`, BAD_PARAMS],
  ["turn.scored", `{"conversation":${WILD}}`, BAD_PARAMS],
  ["ui.link", `{"role":${WILD}}`, BAD_PARAMS],
  ["turn.end", `{"conversation":"a","user":"x","assistant":"y","metadata":[${WILD}]}`, BAD_PARAMS],
  ["turn.owed", `{"conversation":${WILD}}`, BAD_PARAMS],
  ["turn.judge", `{"conversation":${WILD},"exchange":"e","sinceMs":1,"outcome":"worked"}`, BAD_PARAMS],
  ["turn.judge", `{"conversation":"a","exchange":${WILD},"sinceMs":1,"outcome":"worked"}`, BAD_PARAMS],
  ["turn.judge", `{"conversation":"a","exchange":"e","sinceMs":1,"outcome":${WILD}}`, BAD_PARAMS],
  ["turn.judge", `{"conversation":"a","exchange":"e","sinceMs":${WILD},"outcome":"worked"}`, BAD_PARAMS],
  ["book.ingest", `{"title":"t","source":"","content":"x","size":${WILD}}`, BAD_PARAMS],
  ["fact.add", `{"content":${WILD}}`, BAD_PARAMS],
  ["fact.update", `{"old_content":${WILD},"new_content":${WILD}}`, BAD_PARAMS],
  ["outcome.record", `{"key_takeaway":${WILD}}`, BAD_PARAMS],
  ["outcome.score", `{"outcome":${WILD}}`, BAD_PARAMS],
  ["outcome.score", `{"outcome":"worked","exchange_summary":${WILD}}`, BAD_PARAMS],
  ["outcome.search", `{"query":"x","limit":${WILD}}`, BAD_PARAMS],
  ["outcome.insights", `{"query":${WILD}}`, BAD_PARAMS],
  ["outcome.rewrite", `{"id":${WILD},"collection":${WILD},"new_content":${WILD}}`, BAD_PARAMS],
  ["outcome.import", `{"memories":${WILD},"isDry":true}`, BAD_PARAMS],
  [
    "outcome.import",
    `{"memories":[{"id":"a","collection":"working","text":"x","metadata":{"a":${WILD}}}],"isDry":true}`,
    { result: { added: [], refused: [{ id: "a" }] } },
  ],
  ["outcome.import", `{"memories":[],"isDry":${WILD}}`, BAD_PARAMS],
  ["outcome.export", `{"from":${WILD}}`, BAD_PARAMS],
  ["outcome.importGraph", `{"entries":${WILD},"isDry":true}`, BAD_PARAMS],
  ["outcome.importGraph", `{"entries":[{"at":${WILD},"value":"1"}],"isDry":true}`, BAD_PARAMS],
  ["outcome.importGraph", `{"entries":[{"at":["content_graph.json",${WILD}],"value":"1"}],"isDry":true}`, BAD_PARAMS],
  ["outcome.importGraph", `{"entries":[{"at":["content_graph.json"],"value":${WILD}}],"isDry":true}`, BAD_PARAMS],
  ["outcome.importGraph", `{"entries":[{"at":["content_graph.json"],"value":"{"}],"isDry":true}`, BAD_PARAMS],
  ["outcome.importGraph", `{"entries":[{"at":["/etc/passwd"],"value":"1"}],"isDry":true}`, BAD_PARAMS],
  [
    "outcome.importGraph",
    `{"entries":[{"at":["content_graph.json"],"value":"${"[".repeat(9_000)}${"]".repeat(9_000)}"}],"isDry":true}`,
    BAD_PARAMS,
  ],
  ["outcome.importGraph", `{"entries":[],"isDry":${WILD}}`, BAD_PARAMS],
  ["outcome.exportGraph", `{"after":${WILD}}`, BAD_PARAMS],
  ["tools/call", tool("list_drawers", '{"offset":1e300}'), { result: {} }],
  ["tools/call", tool("list_drawers", '{"offset":1e999}'), { error: { code: -32602 } }],
  ["notifications/initialized", "{}", { error: { code: -32601 } }],
])("%s refuses wild arguments (case %#) with the reason", async (method, params, answer) => {
  stream.write(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}\n`);
  stream.resume();
  const [line] = (await once(stream, "data", { signal: AbortSignal.timeout(15_000) })) as [Buffer];
  expect(JSON.parse(line.toString())).toMatchObject({ id: 7, ...answer });
});
