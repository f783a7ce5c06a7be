/** Palace of the documentation of npm packages (npm-docs.ts), one wing per package. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { keptPalace } from "./kept.ts";

export function docsPalace(folder: string, model: string | undefined): Promise<string> {
  return keptPalace({ name: "npm-docs", content: basename(folder), model }, async (palace) => {
    for (const name of readdirSync(folder)) {
      const wing = name.replaceAll(/[^a-z0-9]+/g, "_");
      const { code, stderr } = await palace.run("mempalace-docs", [join(folder, name), "--wing", wing, "--quiet"]);
      if (code !== 0) throw new Error(`mempalace-docs ${name}: ${stderr}`);
    }
  });
}
