/** `mempalace mine DIR`, `mempalace sweep TARGET`: upstream's modes, done by the feeder that can. */
import { PalaceError } from "../../protocol/errors.ts";
import { spelled } from "../spelling.ts";
import { defineVerb } from "../verb.ts";
import { hasKind, verb as mine } from "../verb/mine.ts";

/** Mode → the feeder's name, and what to type where this version has no such feeder. */
const MODES: Readonly<Record<string, readonly [kind: string, instead: string]>> = {
  projects: ["projects", "palace mine docs DIR files the documentation of a project, not its source code"],
  convos: ["convos", ""],
  extract: ["extract", "turn them into text first; palace mine docs DIR files text"],
};

export const verb = defineVerb({
  usage: `mempalace mine DIR [--mode projects|convos|extract] [--wing W] [--agent NAME] [--limit N] [--dry-run]
    [--extract exchange|general] [--no-gitignore] [--include-ignored P] [--include-subagents] [--max-chunks-per-file N]

Files a project, or with --mode convos the transcripts of conversations. Run it again at any time: only what is new is filed.`,
  options: {
    mode: { type: "string" },
    wing: { type: "string" },
    agent: { type: "string" },
    limit: { type: "string" },
    "dry-run": { type: "boolean" },
    extract: { type: "string" },
    "no-gitignore": { type: "boolean" },
    "include-ignored": { type: "string", multiple: true },
    "include-subagents": { type: "boolean" },
    "max-chunks-per-file": { type: "string" },
    "redetect-origin": { type: "boolean" },
    daemon: { type: "boolean" },
    direct: { type: "boolean" },
  },
  args: [1, 1],
  run: async ({ values, args: [dir = ""], env, config, out }) => {
    const mode = values.mode ?? "projects";
    const known = Object.hasOwn(MODES, mode) ? MODES[mode] : undefined;
    if (known === undefined)
      throw new PalaceError(
        "CONFIG_USAGE",
        `--mode takes ${Object.keys(MODES).join(", ")}, not ${mode}`,
        "leave it out",
      );
    const [kind, instead] = known;
    if (!hasKind(kind))
      throw new PalaceError("ENGINE_UNSUPPORTED", `there is no mining of ${mode} in this version`, instead);
    const given: string[] = [];
    for (const [name, value] of Object.entries(values)) {
      // Who holds the palace is decided: the broker does, with and without a daemon.
      if (["mode", "daemon", "direct", "palace", "json", "help"].includes(name) || value === undefined) continue;
      if (name === "extract" && value === "exchange") continue;
      if (Array.isArray(value)) for (const one of value) given.push(`--${name}=${String(one)}`);
      else given.push(value === true ? `--${name}` : `--${name}=${String(value)}`);
    }
    const { paths } = config;
    const palace = paths.palaceDir === paths.home ? ["--palace", paths.home] : [];
    const common = [...palace, ...(out.isJson ? ["--json"] : [])];
    return mine.execute([kind, dir, ...given, ...common], env).catch((error: unknown) => {
      if (!(error instanceof PalaceError && error.code === "CONFIG_USAGE" && /option/i.test(error.message)))
        throw error;
      throw new PalaceError(
        "ENGINE_UNSUPPORTED",
        `mode ${mode}: ${error.message}`,
        spelled(`palace mine ${kind} --help`),
        {
          cause: error,
        },
      );
    });
  },
});
