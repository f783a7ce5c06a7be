/**
 * Tests writes to a user's file that is a symbolic link, as dotfile managers (stow, chezmoi) make it: the link stays, and its target gets
 * the content.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { targetOf, writeUserFile } from "../../../src/base/atomic-file.ts";
import { editSettings } from "../../../src/cli/settings/edit.ts";
import { writeSettings } from "../../../src/devbox/settings.ts";
import { addKnownEntities } from "../../../src/feeders/setup/known.ts";
import { createSettingsStore } from "../../../src/mempalace/settings-file.ts";
import { authorizeKey } from "../../../src/wire/bridge/authorized-keys.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "user-file-"));
  for (const folder of ["home", "dotfiles"]) mkdirSync(join(home, folder));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

type Write = (file: string) => unknown;
const names = { people: ["Ada"], projects: [], topics: [] };

const WRITES: readonly [name: string, before: string, write: Write][] = [
  [
    "config.json",
    '{"palace_path":"/x"}',
    () => createSettingsStore(join(home, "home")).setHooks({ silent_save: false }),
  ],
  ["known_entities.json", '{"people":["Bob"]}', (file) => addKnownEntities(file, names, "fern")],
  [".env", "A=1\n", () => writeSettings(join(home, "home"), { B: "2" })],
  ["authorized_keys", "# mine\n", (file) => authorizeKey(file, `ssh-ed25519 ${"A".repeat(68)}`, ["gate"], false)],
  ["settings.json", "{}", (file) => editSettings(file, "wake-up", false)],
];

test.each(WRITES)("%s: a link stays a link, and its target gets the content", async (name, before, write) => {
  const [file, target] = [join(home, "home", name), join(home, "dotfiles", name)];
  writeFileSync(target, before);
  symlinkSync(join("../dotfiles", name), file);
  await write(file);
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, "utf8")).not.toBe(before);
  expect(existsSync(`${file}.${process.pid}.tmp`)).toBe(false);
});

test("a relative link inside a linked folder is resolved from the folder's real path, as the system does", () => {
  for (const folder of ["data", "data/ssh", "data/keys"]) mkdirSync(join(home, folder));
  symlinkSync(join(home, "data/ssh"), join(home, "home/.ssh"));
  symlinkSync("../keys/authorized_keys", join(home, "data/ssh/authorized_keys"));
  const file = join(home, "data/keys/authorized_keys");
  writeFileSync(file, "# mine\n");
  chmodSync(file, 0o664);
  writeUserFile(join(home, "home/.ssh/authorized_keys"), "# new\n");
  expect(readFileSync(file, "utf8")).toBe("# new\n");
  expect(lstatSync(file).mode & 0o777).toBe(0o664);
  expect(existsSync(join(home, "home/keys"))).toBe(false);
});

test("a write through a link to a device is refused", () => {
  const file = join(home, "home/settings.json");
  symlinkSync("/dev/null", file);
  expect(() => writeUserFile(file, "{}")).toThrow(/is not a file/);
});

test.each(WRITES)("%s: a link without a target stays a link, and its target is made", async (name, _before, write) => {
  const [file, target] = [join(home, "home", name), join(home, "dotfiles", name)];
  symlinkSync(join("../dotfiles", name), file);
  await write(file);
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(lstatSync(target).isFile()).toBe(true);
});

test("a symbolic link to itself is refused, and the hint has the command that shows the link", () => {
  const file = join(home, "loop");
  symlinkSync("loop", file);
  for (const work of [() => targetOf(file), () => writeUserFile(file, "x")])
    expect(work).toThrow(expect.objectContaining({ code: "CONFIG_BAD_VALUE", hint: `ls -l ${file}` }));
});
