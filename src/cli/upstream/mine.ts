/** `mempalace mine DIR` runs our feeder for upstream's `--mode`. */
import { resolve } from "node:path";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { defineVerb, options, readChoice } from "../define-verb.ts";
import { readExtract } from "../feeding/mining.ts";
import { verb as mine } from "../verbs/mine.ts";
import { handOn } from "./format.ts";
import { writeOrigin } from "./origin.ts";

const KINDS = { projects: "projects", convos: "convos", extract: "formats" };
const MODES = ["projects", "convos", "extract"] as const;

/** Options that the feeder does not get: we handle them here, or they have no effect because the broker always writes. */
const NOT_PASSED_ON = ["mode", "daemon", "direct", "background", "redetect-origin", "palace", "json", "help"];
/** Options that every mode accepts, as in upstream, but only one mode uses. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  extract: ["convos"],
  "include-subagents": ["convos"],
  "no-gitignore": ["projects"],
  "include-ignored": ["projects"],
  "max-chunks-per-file": ["projects", "extract"],
  "related-drawer-id": ["media"],
};

export const verb = defineVerb({
  usage: `mempalace mine DIR [--mode projects|convos|extract] [--wing W] [--agent NAME] [--limit N] [--dry-run]
    [--extract exchange|general] [--no-gitignore] [--include-ignored P] [--include-subagents] [--max-chunks-per-file N]
    [--redetect-origin]

Files a project, with --mode convos the transcripts of conversations, with --mode extract office documents (pdf docx pptx xlsx
rtf epub). Run it again at any time: it files only what is new.`,
  options: options(
    "mode= wing= agent= limit= dry-run extract= no-gitignore include-ignored=... include-subagents",
    "max-chunks-per-file= redetect-origin source= related-drawer-id= daemon direct background",
  ),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [dir = ""], config, out }) => {
    const mode = readChoice(values.mode, "mode", MODES, "projects");
    const kind = KINDS[mode];
    if (values.source !== undefined)
      throw wrongUsage(`unknown source adapter '${values.source}'`, "--mode projects|convos|extract");
    readExtract(values.extract);
    if (values["redetect-origin"] === true) writeOrigin(resolve(dir), config, out);
    const given: string[] = [];
    for (const [name, value] of Object.entries(values)) {
      if (NOT_PASSED_ON.includes(name) || value === undefined) continue;
      if (name === "extract" && value === "exchange") continue;
      const only = ONLY_IN[name];
      if (only !== undefined && !only.includes(mode)) {
        out.notice(`  --${name} has no effect in mode ${mode}`);
        continue;
      }
      if (Array.isArray(value)) for (const one of value) given.push(`--${name}=${String(one)}`);
      else given.push(value === true ? `--${name}` : `--${name}=${String(value)}`);
    }
    return handOn(mine, [kind, dir, ...given], { config, out }).catch((error: unknown) => {
      if (!(error instanceof PalaceError && error.code === "CONFIG_USAGE" && /option/i.test(error.message)))
        throw error;
      throw new PalaceError(
        "ENGINE_UNSUPPORTED",
        `mode ${mode}: ${error.message}`,
        out.spelled(`palace mine ${kind} --help`),
        { cause: error },
      );
    });
  },
});
