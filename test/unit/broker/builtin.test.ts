/** Tests the builtin engine with a real palace, without a broker's sockets. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startBuiltinEngine } from "../../../src/broker/builtin/engine.ts";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import type { Engine } from "../../../src/broker/engine.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { type Config, loadConfig } from "../../../src/config/config.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import type { PalaceError } from "../../../src/base/errors.ts";
import type { StatusReport } from "../../../src/protocol/spec.ts";
import { ChromaPalace } from "../../helpers/chroma-palace.ts";

const peer: Peer = { id: 1, agent: "test", door: "unix", role: "admin", uid: 0, pid: 1, tools: "full" };

let folder: string;
let config: Config;
let engine: Engine | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "builtin-"));
  config = loadConfig({ HOME: folder, MEMPALACE_OFFLINE: "1" });
});
afterEach(async () => {
  await engine?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the engine. The returned promise resolves with the error that ends the broker. */
function start(): Promise<PalaceError> {
  const fatal = Promise.withResolvers<PalaceError>();
  engine = startBuiltinEngine({
    ...{ config, metrics: new Metrics(), log: SILENT_LOG, onFatal: fatal.resolve },
    status: () => ({}) as StatusReport,
    stop: () => {},
    pageLink: () => Promise.reject(new Error("no page")),
    ownFiles: {} as never,
    miner: { command: process.execPath, args: [], env: {} },
    ending: new Promise(() => {}),
  });
  return fatal.promise;
}

async function call(name: string, values: object): Promise<Record<string, unknown>> {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: values } };
  const answer = (await engine?.dispatch(peer, message, 100)) as { result: { content: [{ text: string }] } };
  return JSON.parse(answer.result.content[0].text) as Record<string, unknown>;
}

test("the first call fails with the reason if the broker cannot adopt the palace", async () => {
  const { palaceDir } = config.paths;
  mkdirSync(palaceDir, { recursive: true });
  // This palace lacks a table that Chroma makes.
  new ChromaPalace(palaceDir).close();
  void start();
  const { error } = await call("mempalace_list_drawers", {});
  expect(error).toMatch(/cannot be adopted: .* has lost tables/);
});

test("an idle broker ends when the WAL of the coordination log is deleted", async () => {
  const ended = start();
  const event = { type: "note", stream: "project/p", room: "status", from_agent: "ada", body: "here" };
  await call("mempalace_event_append", event);
  rmSync(join(config.paths.palaceDir, "logstream.sqlite3-wal"));
  expect(await ended).toMatchObject({ code: "PALACE_GONE" });
});
