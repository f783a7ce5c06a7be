/** Detects whether a folder contains conversations with an AI, and writes the result to the palace's origin.json. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { detectOrigin } from "../../feeders/setup/origin.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import type { Output } from "../terminal/output.ts";
import { say } from "./format.ts";

/** Writes origin.json unless the palace is on another machine. */
export function writeOrigin(root: string, { paths, endpoint }: Config, out: Output): object | undefined {
  const result = detectOrigin(root);
  if (result === undefined) {
    say(out, "  Skipping corpus-origin detection -- no readable samples.");
    return undefined;
  }
  const at = new Date().toISOString().replace("Z", "000+00:00");
  const origin = { schema_version: 1, detected_at: at, result };
  const file = join(paths.palaceDir, ".mempalace", "origin.json");
  if (endpoint === undefined)
    try {
      mkdirSync(join(paths.palaceDir, ".mempalace"), { recursive: true, mode: 0o700 });
      writeFileAtomic(file, JSON.stringify(origin, null, 2));
    } catch (error) {
      out.notice(`  Could not write ${file}: ${(error as Error).message}`);
    }
  say(
    out,
    result.likely_ai_dialogue
      ? "  Detected: AI dialogue (platform unidentified) (user: —, agents: —)"
      : `  Corpus origin: not AI-dialogue (confidence: ${result.confidence.toFixed(2)})`,
  );
  return origin;
}
