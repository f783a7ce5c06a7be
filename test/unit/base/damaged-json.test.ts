/** Tests with files and messages of wrong or invalid JSON. Each of them is refused with a typed error or counts as empty. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readList } from "../../../src/memory/backup/known-backups.ts";
import { formatLine } from "../../../src/cli/verbs/logs.ts";
import { toolValue } from "../../../src/wire/client/client.ts";
import { parseCounts } from "../../../src/devbox/counts.ts";
import { parseTree } from "../../../src/devbox/home-tree.ts";
import { restoreHome } from "../../../src/devbox/snapshot.ts";
import { findStage, readManifest } from "../../../src/feeders/doc-miner/staging-area.ts";
import { readNotes } from "../../../src/feeders/notes.ts";
import { readFailed } from "../../../src/base/state-files.ts";
import { createSettingsStore } from "../../../src/mempalace/settings-file.ts";
import { parseSeen } from "../../../src/mempalace/reconcile/last-look.ts";
import { idOfUnread } from "../../../src/wire/transport/frame.ts";

const OTHERS = ["nope", "", "null", "3", '"text"', "[1]"];

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "json-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

test.each(OTHERS)("hook_settings refuses to overwrite a config.json with the content %j", (text) => {
  const file = put("config.json", text);
  const store = createSettingsStore(folder);
  expect(() => store.setHooks({ silent_save: false })).toThrow(
    expect.objectContaining({ code: "CONFIG_BAD_VALUE", message: expect.stringContaining(file) }),
  );
  expect(readFileSync(file, "utf8")).toBe(text);
  expect(store.hooks()).toEqual({ silent_save: true, desktop_toast: false });
});

test.each(OTHERS)("a state file with the content %j counts as empty", (text) => {
  put("failed", text);
  expect(readFailed({ stateDir: folder } as never)).toBeUndefined();
  put("backups.json", text);
  expect(readList(folder)).toEqual({ backups: [], schedule: null });
  expect(readNotes<{ sessions: object }>(put("notes.json", text), "sessions")).toBeUndefined();
  expect(parseSeen(text)).toBeUndefined();
  expect(formatLine(text)).toBe(text);
});

test("a state file with a wrong entry counts as empty", () => {
  put("backups.json", '{"backups":[null],"schedule":null}');
  expect(readList(folder)).toEqual({ backups: [], schedule: null });
  expect(
    readNotes<{ sessions: object }>(put("notes.json", '{"schema":1,"sessions":null}'), "sessions"),
  ).toBeUndefined();
  const options = { cacheDir: join(folder, "cache"), wing: "w", root: folder, palace: folder };
  const { manifestFile } = findStage(options);
  mkdirSync(dirname(manifestFile), { recursive: true });
  writeFileSync(manifestFile, '{"schema":1,"files":null}');
  writeFileSync(join(dirname(manifestFile), "owner.json"), '{"root":3}');
  expect(readManifest(findStage(options))).toBeUndefined();
});

test.each(OTHERS)("the answer %j of a container causes a typed error", (text) => {
  expect(() => parseCounts(text)).toThrow(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
  expect(() => parseTree(text)).toThrow(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
});

test.each([...OTHERS, '{"home":{}}'])("a restore refuses a copy with the snapshot.json %j", async (text) => {
  put("snapshot.json", text);
  put("home.tar", "");
  await expect(restoreHome({} as never, folder, [])).rejects.toThrow(
    expect.objectContaining({ code: "STORE_CORRUPT", message: expect.stringContaining("snapshot.json") }),
  );
});

test("an engine's answer that is not JSON causes a typed error", () => {
  const answer = { content: [{ type: "text", text: "nope" }] };
  expect(() => toolValue("add_drawer", answer)).toThrow(expect.objectContaining({ code: "PROTOCOL_BAD_FRAME" }));
});

test.each(["01", "-01", "-00"])("the invalid id %s of a too long request counts as no id", (id) => {
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{`);
  expect(idOfUnread(head, Buffer.from("x"))).toBeNull();
});
