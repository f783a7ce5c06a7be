import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { placeOf } from "../../../src/cli/feeding/feeding.ts";
import { feedDocuments } from "../../../src/feeders/doc-miner/file-documents.ts";
import { PROJECTS } from "../../../src/feeders/doc-miner/kinds-of-run.ts";
import type { FeedReport } from "../../../src/feeders/doc-miner/run.ts";
import type { Caller } from "../../../src/feeders/send.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const SAID = "Alice and Bob talked. Alice asked Bob why the broker writes, and Bob told Alice what ChatStore does.";

function run(palace: TestPalace, wing: string, root: string, caller: Caller): Promise<FeedReport> {
  return feedDocuments({
    options: {
      ...{ front: PROJECTS, dir: root, wing, dryRun: false, force: false, agent: "test" },
      ...{ limit: 0, drawersMax: 0, ignoreFiles: true, include: [], avoid: [] },
      ...placeOf(palace.config),
      registryFile: palace.config.paths.knownEntitiesFile,
      filing: palace.config.filing(),
    },
    connect: async () => caller,
    watch: { notice: () => {}, progress: () => {} },
    signal: new AbortController().signal,
  });
}

const CASES = [
  { wing: "noting", at: "source.replace", isLost: false },
  { wing: "linking", at: "link.rebuild", isLost: false },
  { wing: "lost", at: "link.rebuild", isLost: true },
] as const;

test("the next run makes the links that a killed mine did not make", { timeout: 300_000 }, async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const notes = join(dirname(palace.config.paths.cacheDir), "mempalace-projects");
  const hallways = async (wing: string): Promise<unknown> =>
    ((await client.callTool("mempalace_list_hallways", { wing })) as { total: number }).total;

  for (const { wing, at, isLost } of CASES) {
    const root = join(palace.home, wing);
    const kept = join(palace.home, `notes of ${wing}`);
    mkdirSync(root, { recursive: true });
    for (let file = 0; file < 3; file++) writeFileSync(join(root, `${file}.md`), `${SAID} It is file ${file}.\n`);
    let sent = 0;
    const dying = {
      call: async (method: string, ...rest: unknown[]): Promise<unknown> => {
        const call = client.call.bind(client) as (name: string, ...more: unknown[]) => Promise<unknown>;
        const result = method === "link.rebuild" ? undefined : await call(method, ...rest);
        const isLast = method === "link.rebuild" || (method === "source.replace" && ++sent === 3);
        if (isLast && method === at) cpSync(notes, kept, { recursive: true });
        if (result === undefined) throw new Error("killed here");
        return result;
      },
    } as Caller;
    expect(await run(palace, wing, root, dying)).toMatchObject({ filed: 3 });
    // Puts back the miner's notes (which files are done) as a killed run would have left them.
    rmSync(notes, { recursive: true });
    if (!isLost) cpSync(kept, notes, { recursive: true });

    expect(await hallways(wing), wing).toBe(0);
    const next = await run(palace, wing, root, client);
    expect(next, wing).toMatchObject({ filed: 0, unchanged: 3 });
    expect(next.links?.hallways, wing).toBeGreaterThan(0);
    expect(await hallways(wing), wing).toBeGreaterThan(0);
    // A later run does not change the hallways.
    expect((await run(palace, wing, root, client)).links, wing).toBeUndefined();
  }
  client.close();
});
