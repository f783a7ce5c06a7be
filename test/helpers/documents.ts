/** Makes projects of documents and runs `mempalace-docs` on them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { FeedReport } from "../../src/feeders/doc-miner/run.ts";
import type { TestPalace } from "./palace.ts";

export const PARAGRAPH =
  "The broker is the only process that writes the palace; everybody else asks it through a door. ";

export function put(root: string, path: string, content = `# ${path}\n\n${PARAGRAPH}\n`): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

/** Creates a project folder in the palace's temporary home. */
export function createProject(palace: TestPalace, name: string, files: readonly string[]): string {
  const root = join(palace.home, "src", name);
  for (const path of files) put(root, path);
  return root;
}

type Report = FeedReport & { wouldFile?: string[]; error?: { code: string; hint: string } };

export async function feed(palace: TestPalace, args: string[], env = {}): Promise<Report & { code: number | null }> {
  const { code, stdout, stderr } = await palace.run("mempalace-docs", [...args, "--json"], { env });
  expect(stdout, stderr).not.toBe("");
  return { code, ...(JSON.parse(stdout) as Report) };
}
