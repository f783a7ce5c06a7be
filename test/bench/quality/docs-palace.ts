/** The palace of the developers' questions: every page of npm-docs.ts, mined by mempalace-docs, a wing a package. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Env } from "../../../src/config/env.ts";
import type { TestPalace } from "../../helpers/palace.ts";
import { keptPalace } from "./kept.ts";

/** With a model in `env` the kept palace has all vectors. */
export function openDocsPalace(folder: string, env: Env): Promise<TestPalace> {
  const isEmbedded = env["MEMPALACE_MODEL_DIR"] !== undefined;
  const name = isEmbedded ? "npm-docs-embedded" : "npm-docs-words";
  return keptPalace({ name, content: basename(folder), env }, async (palace) => {
    for (const name of readdirSync(folder)) {
      const args = [join(folder, name), "--wing", wingOf(name), "--quiet"];
      const { code, stderr } = await palace.run("mempalace-docs", args);
      if (code !== 0) throw new Error(`mempalace-docs ${name}: ${stderr}`);
    }
  });
}

export function wingOf(name: string): string {
  return name.replaceAll(/[^a-z0-9]+/g, "_");
}
