/** Makes a palace with our drawers, on which a foreign MemPalace then works. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { createTestPalace, type TestPalace } from "./palace.ts";
import { type MempalaceVersion, type PythonChroma, startPythonChroma } from "./python-mempalace.ts";
import { status } from "./python-rows.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Number of drawers of ours in a new scene. */
export const OURS = 30;
export const FOUND_MAX_MS = 60_000;

export type Scene = AsyncDisposable & {
  palace: TestPalace;
  env: Record<string, string>;
  palaceDir: string;
};
export type ChromaScene = Scene & { chroma: PythonChroma };

/** Starts Chroma on a palace folder and a broker that uses it, and files OURS drawers. */
export async function setChromaScene(version: MempalaceVersion): Promise<ChromaScene> {
  // If a later step fails, the stack stops the broker before Chroma.
  await using begun = new AsyncDisposableStack();
  const palace = createTestPalace();
  const { palaceDir } = palace.config.paths;
  const chroma = begun.use(await startPythonChroma(version, palace.home, palaceDir));
  begun.use(palace);
  const env = { MEMPALACE_CHROMA_URL: chroma.url, MEMPALACE_MODEL_DIR: join(palace.home, "tiny-model") };
  return { ...(await fill(palace, env, begun)), chroma };
}

/** Makes the scene without a Chroma server: the broker writes the palace's files itself. */
export async function setFilesScene(): Promise<Scene> {
  await using begun = new AsyncDisposableStack();
  const palace = begun.use(createTestPalace());
  const env = { MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "tiny-model")) };
  return await fill(palace, env, begun);
}

/** Starts the broker and files OURS drawers. Disposing of the scene stops the broker. */
async function fill(palace: TestPalace, env: Record<string, string>, begun: AsyncDisposableStack): Promise<Scene> {
  await palace.startBroker(env);
  await file(palace, env, 0, OURS);
  await expect.poll(async () => (await status(palace)).strays.state, { timeout: FOUND_MAX_MS }).toBe("clear");
  const scene = begun.move();
  return { palace, env, palaceDir: palace.config.paths.palaceDir, [Symbol.asyncDispose]: () => scene.disposeAsync() };
}

/** Files the drawers numbered `from` to `to` - 1, and waits until the public palace has them. */
export async function file(palace: TestPalace, env: Record<string, string>, from: number, to: number): Promise<void> {
  await using shim = await palace.shim(env);
  for (let start = from; start < to; start += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, to - start) }, (_, at) =>
        shim.call("mempalace_add_drawer", { wing: "ours", room: "notes", content: `ours ${start + at}` }),
      ),
    );
  await expect
    .poll(async () => (await status(palace)).driver, { timeout: FOUND_MAX_MS })
    .toMatchObject({ state: "synced", lag: 0 });
}

/** Returns the finding of `palace doctor` about foreign writers. */
export async function doctor({
  palace,
  env,
}: Scene): Promise<{ state: string; detail: string; hint: string } | undefined> {
  const { stdout } = await palace.run("palace", ["doctor", "--json"], { env });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; detail: string; hint: string }[] };
  return checks.find(({ name }) => name === "strays");
}

export function idsIn(file: string, sql: string): string[] {
  const database = new Database(file, { readonly: true });
  const ids = database.prepare<[], string>(sql).pluck().all();
  database.close();
  return ids.sort();
}
export const ledgerIds = ({ palace }: Scene): string[] =>
  idsIn(palace.config.paths.ledgerFile, "SELECT id FROM drawer");
