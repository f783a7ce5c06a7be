/** Tests `palace start --at-login` with a script in place of systemctl, because no test machine has a running user manager of systemd. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { tryFlock } from "../../../src/base/libc.ts";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/**
 * Script in place of systemctl: records its arguments and starts the unit's command. `exec` replaces the shell, which would keep our pipe
 * open. The shell reads a unit's quotes as systemd does, as long as no value has special characters.
 */
const SYSTEMCTL = `#!/bin/sh
[ "$1" = --version ] && exit 0
printf '%s\\n' "$*" >>"$HOME/systemctl.log"
if [ -f "$HOME/unreachable" ]; then echo "Failed to connect to bus" >&2; exit 1; fi
unit=$HOME/.config/systemd/user/$3.service
case $2 in start | restart) ;; *) exit 0 ;; esac
line="exec env -i HOME='$HOME' PATH='$PATH' $(sed -n 's/^Environment=//p' "$unit" | tr '\\n' ' ') $(sed -n 's/^ExecStart=//p' "$unit")"
eval "$line" </dev/null >"$HOME/service.out" 2>&1 &
`;

const bin = mkdtempSync(join(tmpdir(), "palace-systemctl-"));
writeFileSync(join(bin, "systemctl"), SYSTEMCTL, { mode: 0o755 });
afterAll(() => rmSync(bin, { recursive: true, force: true }));

function withSystemctl(): TestPalace & { unit: string; asked: () => string[] } {
  const palace = createTestPalace({ env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` } });
  const log = join(palace.home, "systemctl.log");
  return Object.assign(palace, {
    unit: join(palace.home, ".config/systemd/user/palace-broker.service"),
    asked: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
  });
}

const isServed = async ({ config }: TestPalace): Promise<boolean> => (await findBroker(config)) !== undefined;

/** Returns true if the palace's broker is the service's broker, and not a broker that a client started on demand. */
const isServiceHolding = ({ config }: TestPalace): boolean =>
  /^broker \d+\n$/.test(readFileSync(config.paths.lockFile, "utf8"));

test("palace start --at-login runs the broker as a service, a second call changes nothing, and palace stop --at-login undoes it", async () => {
  await using palace = withSystemctl();
  const shown = await palace.run("palace", ["start", "--at-login", "--dry-run"]);
  expect([shown.code, shown.stdout]).toEqual([
    0,
    expect.stringMatching(/would write[^]*ExecStart=[^]*would run: systemctl/),
  ]);
  expect([existsSync(palace.unit), palace.asked(), await isServed(palace)]).toEqual([false, [], false]);

  const first = await palace.run("palace", ["start", "--at-login"]);
  expect(first, first.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining(`at login: ${palace.unit}\n`) });
  expect(palace.asked()).toEqual(
    ["daemon-reload", "enable palace-broker", "restart palace-broker"].map((one) => `--user ${one}`),
  );
  expect(statSync(palace.unit).mode & 0o777).toBe(0o600);
  expect(isServiceHolding(palace)).toBe(true);
  const content = readFileSync(palace.unit, "utf8");

  expect(first.stdout).toContain("The broker is running: ");
  const again = await palace.run("palace", ["start", "--at-login", "--json"]);
  expect(JSON.parse(again.stdout)).toMatchObject({ started: false, atLogin: { changed: false, done: true } });
  expect(readFileSync(palace.unit, "utf8")).toBe(content);

  const ended = await palace.run("palace", ["stop", "--at-login"]);
  expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("no longer starts at login") });
  expect(palace.asked().slice(-2)).toEqual(["--user disable --now palace-broker", "--user daemon-reload"]);
  expect([existsSync(palace.unit), await isServed(palace)]).toEqual([false, false]);
  const nothing = await palace.run("palace", ["stop", "--at-login"]);
  expect(nothing).toMatchObject({ code: 0, stderr: "The broker was not set to start at login.\n" });
});

test("a login starts no broker after palace stop, and palace start starts the service again", async () => {
  await using palace = withSystemctl();
  await palace.run("palace", ["start", "--at-login"]);
  expect((await palace.run("palace", ["stop"])).stdout).toContain("It stays off until");
  const login = await palace.run("mempalace-broker", ["--at-login"]);
  expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining("palace start") });
  expect(await isServed(palace)).toBe(false);
  const before = palace.asked().length;
  expect((await palace.run("palace", ["start"])).code).toBe(0);
  expect(palace.asked().slice(before)).toEqual(["--user start palace-broker"]);
  expect(isServiceHolding(palace)).toBe(true);
  await palace.run("palace", ["restart"]);
  expect(palace.asked().slice(before + 1)).toEqual(["--user start palace-broker"]);
  expect(isServiceHolding(palace)).toBe(true);
});

test("a broker that a login starts does not take the place of a broker that palace stop has ended", async () => {
  await using palace = createTestPalace();
  const { lockFile } = palace.config.paths;
  mkdirSync(dirname(lockFile), { recursive: true, mode: 0o700 });
  const ending = openSync(lockFile, "a+", 0o600);
  expect(tryFlock(ending)).toBe(true);
  const login = palace.run("mempalace-broker", ["--at-login"]);
  // On a slow machine the broker begins after the stop, and does not start either.
  await delay(1_500);
  expect((await palace.run("palace", ["stop"])).stdout).toContain("It stays off until");
  closeSync(ending);
  expect(await login).toMatchObject({ code: 0 });
  expect(await isServed(palace)).toBe(false);
});

test("a restart with other settings starts a broker with these settings, and says that the service's file is out of date", async () => {
  await using palace = withSystemctl();
  await palace.run("palace", ["start", "--at-login"]);
  const before = palace.asked().length;
  const { code, stderr } = await palace.run("palace", ["restart"], { env: { MEMPALACE_REDACT: "strict" } });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/was started without it\n.*palace start --at-login\n/)]);
  expect(palace.asked().slice(before)).toEqual([]);
  expect([await isServed(palace), isServiceHolding(palace)]).toEqual([true, false]);
});

test("palace start --at-login refuses a service that would not encrypt the scheduled backups", async () => {
  await using palace = withSystemctl();
  const env = { MEMPALACE_BACKUP_DIR: join(palace.home, "backups"), MEMPALACE_BACKUP_PASSPHRASE: "a long secret" };
  const { code, stderr } = await palace.run("palace", ["start", "--at-login"], { env });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/would not encrypt them\n.*backup-passphrase-file FILE\n/)]);
  expect([existsSync(palace.unit), palace.asked(), await isServed(palace)]).toEqual([false, [], false]);
});

test("without an answer from the user manager the unit file is written, the broker runs, and the commands to type are printed", async () => {
  await using palace = withSystemctl();
  writeFileSync(join(palace.home, "unreachable"), "");
  const { code, stderr } = await palace.run("palace", ["start", "--at-login"]);
  expect([code, stderr]).toEqual([
    5,
    expect.stringMatching(
      /but systemd did not answer: Failed to connect to bus\n.*type: systemctl --user daemon-reload && .*restart palace-broker\n/,
    ),
  ]);
  expect([existsSync(palace.unit), await isServed(palace)]).toEqual([true, true]);
  const stopped = await palace.run("palace", ["stop", "--at-login", "--json"]);
  expect([stopped.code, JSON.parse(stopped.stdout)]).toMatchObject([5, { stopped: true, atLogin: { done: false } }]);
});

test("a unit file that is not ours is refused and stays unchanged, and no broker starts", async () => {
  await using palace = withSystemctl();
  mkdirSync(join(palace.home, ".config/systemd/user"), { recursive: true });
  writeFileSync(palace.unit, "[Service]\nExecStart=/bin/true\n");
  for (const verb of ["start", "stop"]) {
    const { code, stderr } = await palace.run("palace", [verb, "--at-login"]);
    expect([code, stderr], verb).toEqual([
      2,
      expect.stringMatching(/is not a file of palace-devbox.*\n.*mv .*\.mine\n/),
    ]);
  }
  expect(readFileSync(palace.unit, "utf8")).toBe("[Service]\nExecStart=/bin/true\n");
  expect([palace.asked(), await isServed(palace)]).toEqual([[], false]);
});

test("without systemctl palace start --at-login says what to run at login, and writes nothing", async () => {
  await using palace = createTestPalace();
  const { code, stderr } = await palace.run("palace", ["start", "--at-login"], { env: { PATH: palace.home } });
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/systemctl is not on the PATH.*\n.*mempalace-broker\S* --at-login\n/),
  ]);
  expect([existsSync(join(palace.home, ".config")), await isServed(palace)]).toEqual([false, false]);
  const lone = await palace.run("palace", ["start", "--dry-run"]);
  expect([lone.code, lone.stderr]).toEqual([2, expect.stringContaining("--dry-run needs --at-login")]);
});
