import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { editText } from "../../../src/cli/terminal/editor.ts";
import { Output } from "../../../src/cli/terminal/output.ts";
import { readUtf8 } from "../../../src/cli/terminal/utf8.ts";

let folder = "";
const notices: string[] = [];
const out = new Output({ json: true });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palace-editor-"));
  vi.stubEnv("TMPDIR", folder);
  notices.length = 0;
  vi.spyOn(out, "notice").mockImplementation((line) => void notices.push(line));
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const edit = (editor: string): Promise<string> =>
  editText("before", { EDITOR: editor }, out, (edited) => Promise.resolve(edited));

test("an editor that removes its file causes an error and leaves no file", async () => {
  await expect(edit("rm")).rejects.toMatchObject({
    code: "CONFIG_USAGE",
    message: "the editor removed the file; nothing was changed",
  });
  expect([readdirSync(folder), notices]).toEqual([[], []]);
});

test("an edit refuses a text that is not UTF-8 and keeps the file with the text", async () => {
  await expect(edit("printf 'caf\\351' | tee >/dev/null")).rejects.toMatchObject({ code: "CONFIG_USAGE" });
  const [, file = ""] = /^your text is kept in (\S+)$/.exec(notices[0] ?? "") ?? [];
  expect(existsSync(file)).toBe(true);
  expect(readFileSync(file).toString("latin1")).toBe("café");
});

test("an edit from stdin keeps a byte order mark, and is refused if stdin is not UTF-8", async () => {
  const given = (bytes: Buffer): Promise<string> => readUtf8(Readable.from([bytes]));
  expect(await given(Buffer.from("\uFEFFcafé"))).toBe("\uFEFFcafé");
  await expect(given(Buffer.from("café", "latin1"))).rejects.toMatchObject({
    code: "CONFIG_USAGE",
    hint: expect.stringContaining("iconv -f LATIN1 -t UTF-8") as string,
  });
});
