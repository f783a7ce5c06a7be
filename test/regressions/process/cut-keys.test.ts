/** The wake-up text and a hook's checkpoint contain shortened texts. A cut inside a secret key left most of the key readable. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const KEY = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA0";
const PIECE = KEY.slice(0, 16);
const TIMEOUT_MS = 60_000;

test("wake-up never cuts a secret key in two", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  for (let before = 150; before < 200; before += 7)
    await client.callTool("mempalace_add_drawer", {
      wing: "w",
      room: "r",
      content: `${"a ".repeat(before / 2)}${KEY} and more words after it`,
    });
  client.close();
  const { code, stdout } = await palace.run("mempalace", ["wake-up"]);
  expect(code).toBe(0);
  expect(stdout).toContain("a a a");
  expect(stdout).not.toContain(PIECE);
});

test("a hook's checkpoint never cuts a secret key in two", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  mkdirSync(palace.config.paths.settingsDir, { recursive: true });
  const transcript = join(palace.home, "s.jsonl");
  const lines = Array.from({ length: 20 }, (_, n) =>
    JSON.stringify({ message: { role: "user", content: `${"tapir ".repeat(6)}${"x".repeat(n)} ${KEY} word` } }),
  );
  writeFileSync(transcript, lines.join("\n"));
  const { stdout } = await palace.run("mempalace", ["hook", "run", "--hook", "stop", "--harness", "claude-code"], {
    input: JSON.stringify({ session_id: "s", transcript_path: transcript }),
  });
  expect(stdout).toContain("checkpoint saved");
  const client = await palace.client();
  const diary = JSON.stringify(await client.callTool("mempalace_diary_read", { agent_name: "claude", last_n: 5 }));
  client.close();
  expect(diary).toContain("tapir");
  expect(diary).not.toContain(PIECE);
});
