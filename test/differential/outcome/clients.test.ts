/**
 * The real Roampal's own clients, as their packages have them, against the broker's port over real HTTP: the hooks of Claude Code and the MCP
 * server. Only the number of the port is another one, which the test chooses (client/sitecustomize.py).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type Behind, listenersAt, told, withDoors } from "../../helpers/outcome-http.ts";
import {
  type ClientEnd,
  ROAMPAL_VERSIONS,
  type RoampalVersion,
  roampalMissing,
  runRoampal,
} from "../../helpers/python-roampal.ts";

const TIMEOUT_MS = 300_000;
const PROMPT = "roampal.hooks.user_prompt_submit_hook";
const STOP = "roampal.hooks.stop_hook";
const LOCAL = { MEMPALACE_OUTCOME_LOCAL: "on" };

for (const version of ROAMPAL_VERSIONS) {
  const missing = await roampalMissing(version);
  const claim = (title: string, run: () => Promise<void>): void =>
    test.skipIf(missing !== undefined)(
      missing === undefined ? `${version}: ${title}` : `${version}: ${title} (${missing})`,
      { timeout: TIMEOUT_MS },
      run,
    );

  claim("hooks that may not come in say nothing, end well and kill nobody", async () => {
    await using palace = await withDoors(false);
    const before = await identity(palace);
    for (const prompt of ["How is the oven cleaned?", "And the fridge?"]) {
      expect(await submit(version, palace, "s1", prompt)).toMatchObject({ code: 0, stdout: "" });
      expect(await stop(version, palace, "s1", prompt, "With soda.")).toMatchObject({ code: 0, stdout: "" });
    }
    expect(await identity(palace)).toEqual(before);
    expect(await told(palace.door, "/api/stats")).toMatchObject({ collections: { working: { count: 0 } } });
  });

  claim(
    "a hook that takes an error for a dead server leaves the broker alone, and the port is ours again",
    async () => {
      await using palace = await withDoors(false, LOCAL);
      const { instance, holders } = await identity(palace);
      // Our bound of an id's length, so that the hook gets an error.
      await submit(version, palace, "s".repeat(300), "How is the oven cleaned?");
      await vi.waitFor(async () => expect((await identity(palace)).instance).toBe(instance), {
        timeout: 60_000,
        interval: 100,
      });
      if (version === "0.3.6.1")
        expect((await identity(palace)).holders, "it kills who holds the port").not.toEqual(holders);
      expect(await submit(version, palace, "s2", "How is the oven cleaned?")).toMatchObject({ code: 0 });
    },
  );
}

type Identity = { instance: unknown; holders: number[] };

async function identity(palace: Behind): Promise<Identity> {
  const { instance_id: instance } = await told(palace.door, "/api/health");
  return { instance, holders: listenersAt(palace.port) };
}

/** As Claude Code does before a prompt. */
function submit(version: RoampalVersion, palace: Behind, session: string, prompt: string): Promise<ClientEnd> {
  return hook(version, palace, PROMPT, { session_id: session, hook_event_name: "UserPromptSubmit", prompt });
}

/** As Claude Code does after an answer. */
function stop(
  version: RoampalVersion,
  palace: Behind,
  session: string,
  user: string,
  assistant: string,
): Promise<ClientEnd> {
  const file = join(palace.home, `${session}.jsonl`);
  const row = (type: string, text: string): string =>
    JSON.stringify({ type, message: { role: type, content: [{ type: "text", text }] } });
  writeFileSync(file, `${row("user", user)}\n${row("assistant", assistant)}\n`);
  const given = { session_id: session, hook_event_name: "Stop", transcript_path: file, stop_hook_active: false };
  return hook(version, palace, STOP, given);
}

async function hook(version: RoampalVersion, palace: Behind, module: string, given: object): Promise<ClientEnd> {
  mkdirSync(join(palace.home, ".claude"), { recursive: true });
  const stdin = JSON.stringify(given);
  const ended = await runRoampal(version, module, { home: palace.home, port: palace.port, stdin });
  if (ended.code !== 0) console.error(`${version} ${module}: ${JSON.stringify(ended, null, 1)}`);
  return ended;
}
