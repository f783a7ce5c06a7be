import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { IDEMPOTENCY_META, WRITTEN_META } from "../../../src/protocol/headers.ts";
import { type StatsReport, type StatusReport } from "../../../src/protocol/spec.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, exitOf, ROOT, type TestPalace } from "../../helpers/palace.ts";

const hasPrometheus =
  spawnSync("promtool", ["--version"]).status === 0 && spawnSync("prometheus", ["--version"]).status === 0;
if (!hasPrometheus && process.env["CI"] === "true")
  throw new Error("Prometheus is missing: apt-get install prometheus");
if (!hasPrometheus) console.log("left out: the tests with Prometheus (apt-get install prometheus)");
const withPrometheus = test.skipIf(!hasPrometheus);

async function metricsOf(palace: TestPalace): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  get({ socketPath: palace.config.paths.socketPath, path: "/metrics" }, (answer) => resolve(text(answer))).on(
    "error",
    reject,
  );
  return promise;
}

function samplesOf(metrics: string): Record<string, number> {
  const lines = metrics.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );
}

async function json<T>(palace: TestPalace, ...args: string[]): Promise<T> {
  const { stdout, stderr, code } = await palace.run("palace", [...args, "--json"]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

/** Writes two notes (one is delivered late), makes two searches with hits and one without, and begins a session and a turn. */
async function use(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  const note = { wing: "notes", room: "keys", content: "The spare key hangs behind the cellar door." };
  await client.callTool("mempalace_add_drawer", note);
  const agent = await palace.shim();
  const _meta = { [IDEMPOTENCY_META]: "late-1", [WRITTEN_META]: Date.now() - 60_000 };
  const late = { ...note, content: "The bakery closes at noon on Sundays." };
  // The second call repeats the first, so it does not count.
  for (const _time of [1, 2])
    await agent.request("tools/call", { name: "mempalace_add_drawer", arguments: late, _meta });
  await agent.close();
  await client.callTool("mempalace_search", { query: "where is the spare key" });
  await client.call("drawer.search", { query: "spare key cellar door" });
  await client.call("drawer.search", { query: "zebra quantum", wing: "nowhere" });
  await client.call("palace.wakeUp", {});
  await client.call("turn.begin", { conversation: "test-1", prompt: "where does the spare key hang?" });
  client.close();
}

test("the test search that `palace up` makes does not count as a search", async () => {
  await using palace = createTestPalace();
  await json(palace, "up");
  expect((await json<StatsReport>(palace, "stats")).usage).toMatchObject({ searchesGood: 0, searchesNone: 0 });
});

test("stats, /metrics and status show the same numbers, and the counts of stats survive the end of the broker", async () => {
  await using palace = createTestPalace();
  const broker = await palace.startBroker();
  await use(palace);
  const stats = await json<StatsReport>(palace, "stats");
  expect(stats.usage).toMatchObject({ searchesGood: 2, searchesWeak: 0, searchesNone: 1, writesLate: 1 });
  expect(stats.usage.tokensStart).toBeGreaterThan(0);
  expect(stats.hitRate).toBeCloseTo(2 / 3, 3);
  expect(stats.methods.find(({ method }) => method === "mempalace_search")).toMatchObject({ calls: 1, failed: 0 });
  const status = await json<StatusReport>(palace, "status");
  expect(status.usage).toEqual(stats.usage);
  const { usage } = stats;
  const samples = samplesOf(await metricsOf(palace));
  expect(samples).toMatchObject({
    palace_drawers: status.drawers,
    'palace_writes_total{outcome="acknowledged"}': status.queue.acknowledged,
    'palace_searches_total{answer="good"}': usage.searchesGood,
    'palace_searches_total{answer="weak"}': usage.searchesWeak,
    'palace_searches_total{answer="none"}': usage.searchesNone,
    'palace_injected_tokens_total{where="start"}': usage.tokensStart,
    'palace_injected_tokens_total{where="prompt"}': usage.tokensPrompt,
    palace_memories_shown_total: usage.memoriesShown,
    palace_late_writes_total: usage.writesLate,
    'palace_outcomes{outcome="worked"}': stats.outcomes.worked,
    'palace_request_duration_seconds_count{method="mempalace_search"}': 1,
  });
  broker.kill("SIGTERM");
  await exitOf(broker);
  await palace.startBroker();
  const next = await json<StatsReport>(palace, "stats");
  expect(next.usage).toEqual(usage);
  // /metrics counts only this broker's searches. If it added older brokers' counts, a count lost in a kill would look like a reset.
  expect(samplesOf(await metricsOf(palace))).toMatchObject({ 'palace_searches_total{answer="good"}': 0 });
  expect((await json<StatsReport>(palace, "stats", "--since", "1d")).usage).toEqual(usage);
  expect((await json<StatsReport>(palace, "stats", "--since", "2099-01-01")).usage.searchesGood).toBe(0);
  const shown = await palace.run("palace", ["stats"]);
  expect(shown.stdout).toContain("searches\t3 answered, 66.7 % with a good hit (0 weak, 1 without a hit)\n");
});

withPrometheus("promtool finds no fault in /metrics", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await use(palace);
  const { status, stderr } = spawnSync("promtool", ["check", "metrics"], { input: await metricsOf(palace) });
  expect([status, stderr.toString()]).toEqual([0, ""]);
});

withPrometheus("the real Prometheus scrapes a broker over TCP with a reader's token", async () => {
  const [port, own] = [await freePort(), await freePort()];
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  await use(palace);
  const { token } = await json<{ token: string }>(palace, "token", "add", "prometheus", "--role", "reader");
  writeFileSync(join(palace.home, "token"), token, { mode: 0o600 });
  const page = readFileSync(join(ROOT, "docs/how-to/watching.md"), "utf8");
  const [, example = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const config = example
    .replace(/credentials_file: .*/, `credentials_file: ${join(palace.home, "token")}`)
    .replace(/HOST:7780/, `127.0.0.1:${port}`)
    .replace(/scrape_interval: .*/, "scrape_interval: 1s");
  const file = join(palace.home, "prometheus.yml");
  writeFileSync(file, config);
  execFileSync("promtool", ["check", "config", file]);
  const data = `--storage.tsdb.path=${join(palace.home, "data")}`;
  const prometheus = spawn("prometheus", [`--config.file=${file}`, data, `--web.listen-address=127.0.0.1:${own}`], {
    stdio: "ignore",
  });
  try {
    const ask = async (query: string): Promise<[unknown, string] | undefined> => {
      const url = `http://127.0.0.1:${own}/api/v1/query?query=${encodeURIComponent(query)}`;
      // While it starts, Prometheus refuses connections or answers 503.
      const answer = await fetch(url)
        .then((one) => one.json())
        .catch(() => undefined);
      return (answer as { data?: { result: { value: [unknown, string] }[] } } | undefined)?.data?.result[0]?.value;
    };
    let value: string | undefined;
    while (value === undefined && prometheus.exitCode === null) {
      value = (await ask("palace_drawers"))?.[1];
      await delay(100);
    }
    expect(value).toBe("2");
    expect((await ask('palace_searches_total{answer="good"}'))?.[1]).toBe("2");
  } finally {
    prometheus.kill("SIGTERM");
    await exitOf(prometheus);
  }
});

test("each query of the Grafana dashboard names metrics that /metrics has", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await use(palace);
  const names = new Set(Object.keys(samplesOf(await metricsOf(palace))).map((one) => one.replace(/\{.*/, "")));
  const file = join(ROOT, "docs/how-to/grafana-dashboard.json");
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  expect(panels.length).toBeGreaterThan(5);
  for (const { title, targets } of panels)
    for (const { expr } of targets) {
      const used = expr.match(/\bpalace_\w+/g) ?? [];
      expect(used.length, title).toBeGreaterThan(0);
      expect(
        used.filter((name) => !names.has(name)),
        title,
      ).toEqual([]);
      if (hasPrometheus) writeFileSync(join(palace.home, "rules.yml"), rule(expr));
      if (hasPrometheus) execFileSync("promtool", ["check", "rules", join(palace.home, "rules.yml")]);
    }
});

/** Writes the query as a recording rule, so that promtool parses it. */
function rule(expr: string): string {
  const query = expr.replaceAll("$__rate_interval", "5m");
  return `groups: [{name: g, rules: [{record: "g:r", expr: ${JSON.stringify(query)}}]}]\n`;
}
