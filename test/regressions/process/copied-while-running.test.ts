/** A copy of a running memory's folder contains the original's broker.json. Clients of the copy trusted it, and wrote into the original. */
import { cpSync, linkSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 90_000;

test("a copy of a palace in use is a separate memory", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  const { home, brokerFile } = palace.config.paths;
  await palace.startBroker();
  const file = async (content: string, more = {}): Promise<void> => {
    const args = ["call", "add_drawer", JSON.stringify({ wing: "w", room: "r", content })];
    expect(await palace.run("palace", args, { env: more })).toMatchObject({ code: 0 });
  };
  await file("before the copy");
  const copied = join(palace.home, "copied");
  cpSync(home, copied, { recursive: true });
  const env = { MEMPALACE_PATH: copied };
  const textsOf = async (more = {}): Promise<string> =>
    (await palace.run("palace", ["call", "list_drawers", "{}"], { env: more })).stdout;
  try {
    await file("into the copy", env);
    expect(await textsOf(env)).toContain("into the copy");
    expect(await textsOf()).not.toContain("into the copy");
    expect(await textsOf()).toContain("before the copy");
    await palace.run("palace", ["stop"], { env });
    expect(readBrokerFile(brokerFile)).toBeDefined();
  } finally {
    await palace.run("palace", ["stop"], { env });
  }
  // A mount point would show the same file under another path, as the hard link does.
  const mounted = join(palace.home, "mounted");
  mkdirSync(mounted);
  linkSync(brokerFile, join(mounted, "broker.json"));
  expect(readBrokerFile(join(mounted, "broker.json"))).toBeDefined();
});
