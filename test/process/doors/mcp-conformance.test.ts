/**
 * Runs the official MCP conformance suite over TCP: all scenarios against our door in front of the suite's own tools, and the scenarios
 * that need none of these tools against a real broker.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openConformanceDoor, openTokenProxy } from "../../fixtures/conformance-door.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, ROOT } from "../../helpers/palace.ts";

/** Scenarios in which every check must succeed. */
const PASSES = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-error",
  "json-schema-2020-12",
  "dns-rebinding-protection",
];

const NOT_DECLARED = (capability: string): string =>
  `only for servers that declare ${capability}; ours declares only tools`;
const MAY = "a server may, and ours does not";
const ASKS_CLIENT = "needs a server that asks its client; ours never does, it works without sessions";

/** Scenarios of optional features that we do not offer. Their checks fail, for the given reason. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "logging-set-level": NOT_DECLARED("logging"),
  "tools-call-with-logging": NOT_DECLARED("logging"),
  "completion-complete": NOT_DECLARED("completions"),
  "resources-list": NOT_DECLARED("resources"),
  "resources-read-text": NOT_DECLARED("resources"),
  "resources-read-binary": NOT_DECLARED("resources"),
  "resources-templates-read": NOT_DECLARED("resources"),
  "resources-subscribe": NOT_DECLARED("resources"),
  "resources-unsubscribe": NOT_DECLARED("resources"),
  "prompts-list": NOT_DECLARED("prompts"),
  "prompts-get-simple": NOT_DECLARED("prompts"),
  "prompts-get-with-args": NOT_DECLARED("prompts"),
  "prompts-get-embedded-resource": NOT_DECLARED("prompts"),
  "prompts-get-with-image": NOT_DECLARED("prompts"),
  "tools-call-with-progress": `send progress: ${MAY}`,
  "tools-call-sampling": ASKS_CLIENT,
  "tools-call-elicitation": ASKS_CLIENT,
  "elicitation-sep1034-defaults": ASKS_CLIENT,
  "elicitation-sep1330-enums": ASKS_CLIENT,
};

/** Scenarios that report neither success nor failure, because we lack the optional feature that they check. */
const NOTHING_TO_CHECK: Readonly<Record<string, string>> = {
  "server-sse-polling": `give a session whose streams can be resumed: ${MAY}`,
  "server-sse-multiple-streams": `give a session: ${MAY}`,
};

type Check = { id: string; status: string; errorMessage?: string };
type Results = ReadonlyMap<string, Check[]>;

describe("the conformance suite, run against its own tools behind our door", () => {
  let results: Results;
  let capabilities: unknown;
  const folder = mkdtempSync(join(tmpdir(), "palace-"));
  beforeAll(async () => {
    await using door = await openConformanceDoor(join(folder, "tokens.json"));
    capabilities = await declared(door.url);
    results = await runSuite(door.url, ["--suite", "all"]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("the conformance suite has exactly the scenarios listed here", () => {
    const listed = [...PASSES, ...Object.keys(NOT_OFFERED), ...Object.keys(NOTHING_TO_CHECK)];
    expect([...results.keys()].sort()).toEqual(listed.sort());
  });

  test("the server that the conformance suite tests declares only tools", () => {
    expect(Object.keys(capabilities as object)).toEqual(["tools"]);
  });

  test.each(PASSES)("the scenario %s passes", (scenario) => {
    const checks = results.get(scenario) ?? [];
    expect(checks.length).toBeGreaterThan(0);
    expect(checks.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
  });

  test.each(Object.entries(NOT_OFFERED))("the scenario %s does not apply: %s", (scenario) => {
    const failed = (results.get(scenario) ?? []).filter(({ status }) => status === "FAILURE");
    expect(failed.length, "it passes now: move it to PASSES").toBeGreaterThan(0);
    // The check failed because our answer was a proper error, not because something broke.
    for (const { errorMessage } of failed)
      expect(errorMessage).toMatch(/-32601|does not support|Unknown tool|No progress notifications/);
  });

  test.each(Object.entries(NOTHING_TO_CHECK))("the scenario %s has nothing to check: %s", (scenario) => {
    const statuses = (results.get(scenario) ?? []).map(({ status }) => status);
    expect(statuses.filter((status) => !["WARNING", "INFO"].includes(status))).toEqual([]);
  });
});

describe("the conformance suite, against a real broker", () => {
  test.each(["server-initialize", "ping", "tools-list", "dns-rebinding-protection"])("%s passes", async (scenario) => {
    const port = await freePort();
    await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
    await palace.startBroker();
    const added = await palace.run("palace", ["token", "add", "suite", "--json"]);
    await using proxy = await openTokenProxy(port, (JSON.parse(added.stdout) as { token: string }).token);
    const checks = (await runSuite(proxy.url, ["--scenario", scenario])).get(scenario) ?? [];
    expect(checks.length).toBeGreaterThan(0);
    expect(checks.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
  });
});

/** Runs the suite and returns each scenario's checks. The suite's exit code does not say which check failed. */
async function runSuite(url: string, options: string[]): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), "palace-"));
  try {
    const cli = join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
    const args = [cli, "server", "--url", url, ...options, "-o", folder];
    const { all } = await execa(process.execPath, args, { reject: false, all: true, cwd: folder, timeout: 240_000 });
    const entries = readdirSync(folder).map((name) => {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1] ?? name;
      return [scenario, JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")) as Check[]] as const;
    });
    expect(entries.length, all).toBeGreaterThan(0);
    return new Map(entries);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function declared(url: string): Promise<unknown> {
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  const json = /\{.*\}/s.exec(await response.text())?.[0] ?? "";
  return (JSON.parse(json) as { result: { capabilities: unknown } }).result.capabilities;
}
