import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const note = { wing: "hostile", room: "place", content: "filed in a hostile place" };

test("a home whose socket path is too long for the kernel has its sockets in a private folder of /tmp", async () => {
  const root = mkdtempSync(join(tmpdir(), "palace-long-"));
  const home = join(root, "a-long-name-of-a-folder-".repeat(6));
  mkdirSync(home, { recursive: true });
  try {
    await using palace = createTestPalace({ home });
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_add_drawer", note)).toHaveProperty("drawer_id");
    const { socketPath, gatePath } = palace.config.paths;
    for (const path of [socketPath, gatePath]) {
      expect(Buffer.byteLength(path)).toBeLessThan(108);
      expect(existsSync(path)).toBe(true);
    }
    expect(statSync(dirname(socketPath)).mode & 0o777).toBe(0o700);
    expect(readBrokerFile(palace.config.paths.brokerFile)?.doors).toMatchObject([{ path: socketPath }]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

const missing = existsSync("/usr/bin/bindfs") ? undefined : "there is no bindfs (apt-get install bindfs)";
if (missing !== undefined) console.log(`left out: a mount that refuses chmod (${missing})`);

test.skipIf(missing)("a palace works on a mount that refuses chmod and chown, and puts no socket there", async () => {
  const root = mkdtempSync(join(tmpdir(), "palace-hostile-"));
  const [real, mounted] = [join(root, "real"), join(root, "mounted")];
  for (const folder of [real, mounted]) mkdirSync(folder);
  execFileSync("bindfs", ["--chmod-deny", "--chown-deny", "--chgrp-deny", real, mounted]);
  try {
    await using palace = createTestPalace({ env: { MEMPALACE_PATH: mounted, MEMPALACE_TRUST_MOUNT: "1" } });
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_add_drawer", note)).toHaveProperty("drawer_id");
    expect(JSON.stringify(await shim.call("mempalace_search", { query: "hostile" }))).toContain(note.content);
    expect(readdirSync(real).filter((name) => statSync(join(real, name)).isSocket())).toEqual([]);
  } finally {
    execFileSync("umount", ["-l", mounted]);
    rmSync(root, { recursive: true, force: true });
  }
});
