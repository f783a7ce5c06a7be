/** Compares an unchanged re-run of mempalace-docs, which must write nothing, with the first run of 500 files. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { inStep } from "../helpers/python-rows.ts";
import { Corpus } from "./corpus.ts";
import { atMost, ms, noModel, type Row } from "./measure.ts";

const FILES = 500;

export async function bench(): Promise<Row[]> {
  if (realModelDir === undefined) return noModel("docs");
  await using palace = createTestPalace({ built: true, env: { MEMPALACE_MODEL_DIR: realModelDir } });
  await palace.startBroker();
  const client = await palace.client();
  const search = async () => (await client.call("palace.status", {})).search;
  while ((await search()).modelState !== "ready") await delay(20);
  const project = join(palace.home, "project");
  mkdirSync(join(project, "docs"), { recursive: true });
  const corpus = new Corpus(4);
  for (let index = 0; index < FILES; index++)
    writeFileSync(join(project, "docs", `page-${index}.md`), `# Page ${index}\n\n${corpus.text(600)}\n`);

  const run = async (): Promise<{ tookMs: number; report: { filed: number; unchanged: number } }> => {
    const startedAt = performance.now();
    const { code, stdout, stderr } = await palace.run("mempalace-docs", [project, "--json"]);
    if (code !== 0) throw new Error(stderr);
    return {
      tookMs: performance.now() - startedAt,
      report: JSON.parse(stdout) as { filed: number; unchanged: number },
    };
  };
  const bare = async (): Promise<number> => {
    const startedAt = performance.now();
    await palace.run("mempalace-docs", ["--help"]);
    return performance.now() - startedAt;
  };
  const startedAt = performance.now();
  const first = await run();
  while ((await search()).pending > 0) await delay(20);
  const firstMs = performance.now() - startedAt;
  client.close();
  // The broker still sends drawers to the public palace for a moment.
  await inStep(palace);
  const before = newestChange(palace.home);
  const again = await run();
  const wrote = newestChange(palace.home) !== before;
  const startMs = Math.min(await bare(), await bare(), await bare());
  if (first.report.filed !== FILES || again.report.unchanged !== FILES)
    throw new Error(`filed ${first.report.filed}, unchanged ${again.report.unchanged}`);
  const detail = `${ms(again.tookMs)}, of which ${ms(startMs)} is the start of Node and the feeder / ${ms(firstMs)}, of which ${ms(first.tookMs)} is the feeder's`;
  return [
    atMost("unchanged mempalace-docs / first run, 500 files", again.tookMs / firstMs, 0.02, detail),
    {
      name: "unchanged mempalace-docs writes nothing",
      measured: wrote ? "wrote" : "nothing written",
      bar: "nothing",
      ok: !wrote,
    },
  ];
}

/** Returns the newest modification time below a folder. Ignores logs, and -shm files, which even a reader changes. */
function newestChange(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => !/\.log$|-shm$/.test(name));
  return Math.max(...names.map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0));
}
