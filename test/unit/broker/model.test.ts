import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Model } from "../../../src/broker/palace/model.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

let folder: string;

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "model-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["names the folder that the user has set", true, /^model-dir .*mine contains no model .*; no model on this machine/],
  ["names no folder if the user has set no folder", false, /^no model on this machine/],
])("without a model on the machine an offline broker %s", async (_what, isSet, detail) => {
  const [dir, cacheDir] = [isSet ? join(folder, "mine") : undefined, join(folder, "cache")];
  const config = { dir, cacheDir, rerankDir: undefined, url: undefined, offline: true, userHome: folder };
  const model = new Model({ config, recorded: () => undefined, onReady: () => {}, log: SILENT_LOG });
  await model.ready(60_000);
  await model.close();
  expect(model.state).toMatchObject({ modelState: "missing", modelDetail: expect.stringMatching(detail) as string });
});
