/** `mempalace init DIR` detects a project's subject and rooms, prints them like upstream, and asks before writing them. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { proposeRooms, writeProject } from "../../feeders/doc-miner/detect-rooms.ts";
import { PROJECTS } from "../../feeders/doc-miner/kinds-of-run.ts";
import { PROJECT_FILES } from "../../base/project-names.ts";
import { surveyProject } from "../../feeders/doc-miner/survey.ts";
import { discoverEntities } from "../../feeders/setup/discover.ts";
import type { Entities, Entity } from "../../feeders/setup/entity.ts";
import {
  addKnownEntities,
  type Confirmed,
  ignoreProjectFiles,
  writeProjectEntities,
} from "../../feeders/setup/known.ts";
import { writeUserFile } from "../../base/atomic-file.ts";
import { quoted } from "../../base/shell-word.ts";
import { unreadable } from "../../base/errors.ts";
import { type Output, printable } from "../terminal/output.ts";
import { defineVerb, options, readChoice } from "../define-verb.ts";
import { banner, confirmed, say } from "./format.ts";
import { writeOrigin } from "./origin.ts";

const PROVIDERS = ["ollama", "openai-compat", "anthropic"];
const MODEL_OPTIONS = ["llm-provider", "llm-model", "llm-endpoint", "llm-api-key", "accept-external-llm"] as const;
const MIB = 1024 * 1024;
const NAME_WIDTH = 20;

export const verb = defineVerb({
  usage: `mempalace init DIR [--yes] [--auto-mine] [--lang L]

Looks for people and projects in a folder (manifests, git's authors, prose) and for rooms (its folders), and writes them to
DIR/entities.json, DIR/mempalace.yaml, and the names for all projects to known_entities.json. Asks first, unless --yes; without a
terminal it writes nothing. It keeps an existing project file. It asks no language model, whatever the options say, and finds
names in English only. --auto-mine files the project afterwards.`,
  options: options(
    "yes auto-mine lang= llm no-llm llm-provider= llm-model= llm-endpoint= llm-api-key=",
    "accept-external-llm backend= daemon direct",
  ),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [dir = ""], config, out }) => {
    readChoice(values["llm-provider"], "llm-provider", PROVIDERS, undefined);
    const root = projectFolder(dir);
    if (values["no-llm"] !== true && MODEL_OPTIONS.some((name) => values[name] !== undefined))
      out.notice("  No language model is asked: names are found by plain rules alone. Nothing was sent anywhere.");
    if (values.lang !== undefined && values.lang !== "en")
      out.notice(`  Names are looked for by English rules; --lang ${values.lang} adds none.`);

    const yes = values.yes;
    const origin = writeOrigin(root, config, out);
    say(out, `\n  Scanning for entities in: ${dir}`);
    const entities = discoverEntities(root);
    const proposal = proposeRooms(root);
    const saved = await settleEntities(entities, { root, wing: proposal.wing, config, out, yes });

    const files = surveyProject(root, [config.paths.home, config.paths.palaceDir], {
      ...{ front: PROJECTS, ignoreFiles: true, include: [], exclude: [] },
    }).documents;
    const existing = PROJECT_FILES.find((name) => existsSync(join(root, name)));
    let written = false;
    if (existing === undefined) {
      if (!out.isJson) showProposal(proposal, files.length, out);
      written = await confirmed("Write these rooms to mempalace.yaml?", yes);
      if (written) await writeProject(root, proposal);
    }
    if (existing !== undefined) say(out, `  ${existing} is there and stays as it is.`);
    else if (written)
      say(
        out,
        `\n  Config saved: ${join(root, "mempalace.yaml")}\n\n  Next step:\n    mempalace mine ${dir}\n\n${"=".repeat(55)}\n`,
      );
    else say(out, "  Nothing written; to write it: --yes");
    if (yes === true || written) writeConfig(config, out);
    if ((written || saved !== undefined) && ignoreProjectFiles(root))
      say(out, "  Added mempalace.yaml, entities.json to .gitignore");
    if (out.isJson)
      out.document({
        root,
        written,
        ...(existing !== undefined && { existing }),
        ...proposal,
        entities,
        origin: origin ?? null,
      });

    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const size = bytes < MIB ? "<1 MB" : `${Math.round(bytes / MIB)} MB`;
    say(out, `  ~${files.length} files (~${size}) would be mined into this palace.\n`);
    if (values["auto-mine"] !== true && !(await confirmed("  Mine this directory now?", undefined))) {
      say(out, `\n  Skipped. Run \`mempalace mine ${quoted(dir)}\` when ready.`);
      return 0;
    }
    const { verb: mine } = await import("./mine.ts");
    const handed = config.handedOn();
    return mine.execute([root, ...handed.palace], handed.env);
  },
});

function projectFolder(dir: string): string {
  const root = resolve(dir);
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === true) return root;
  throw unreadable(`directory not found: ${root}`, "name a project's folder");
}

function showProposal({ wing, rooms, source }: ReturnType<typeof proposeRooms>, files: number, out: Output): void {
  banner(out, ["MemPalace Init -- Local setup"]);
  out.text(`  WING: ${printable(wing)}\n  (${files} files found, rooms detected from ${source})\n`);
  for (const { name, description } of rooms)
    out.text(`    ROOM: ${printable(name)}\n          ${printable(description)}`);
  out.text(`\n${"-".repeat(55)}`);
}

/** Writes the palace's path into config.json for upstream's programs, unless it exists or --palace or a variable names another palace. */
function writeConfig({ paths }: Config, out: Output): void {
  const file = join(paths.settingsDir, "config.json");
  if (paths.palaceDir === paths.home || existsSync(file)) return;
  try {
    mkdirSync(paths.settingsDir, { recursive: true, mode: 0o700 });
    const config = { palace_path: paths.palaceDir, collection_name: "mempalace_drawers" };
    writeUserFile(file, JSON.stringify(config, null, 2));
  } catch (error) {
    out.notice(`  Could not write ${file}: ${(error as Error).message}`);
  }
}

type Settling = { root: string; wing: string; config: Config; out: Output; yes: boolean | undefined };

/** Shows the found names and asks whether to write them down. Returns the written names; undefined if none were written. */
async function settleEntities(
  entities: Entities,
  { root, wing, config, out, yes }: Settling,
): Promise<Confirmed | undefined> {
  const { people, projects, uncertain } = entities;
  if (people.length + projects.length + uncertain.length === 0) {
    say(out, "  No entities detected -- proceeding with directory-based rooms.");
    return undefined;
  }
  const rule = "=".repeat(58);
  const head = [
    `\n${rule}`,
    "  MemPalace -- Entity Detection",
    rule,
    "\n  Scanned your files. Here's what we found:\n",
  ];
  const lists = [...listOf(people, "PEOPLE"), ...listOf(projects, "PROJECTS")];
  if (uncertain.length > 0) lists.push(...listOf(uncertain, "UNCERTAIN (need your call)"));
  say(out, [...head, ...lists].join("\n"));
  const names = (list: readonly Entity[]): string[] => list.map(({ name }) => name);
  const found: Confirmed = { people: names(people), projects: names(projects), topics: [] };
  if (!(await confirmed("Write these names down?", yes))) {
    say(out, "  No names written; to write them: --yes");
    return undefined;
  }
  if (yes === true) say(out, `\n  Auto-accepting ${people.length} people, ${projects.length} projects, 0 topics.`);
  if (people.length + projects.length === 0) return undefined;
  const file = writeProjectEntities(root, found);
  if (file === undefined) out.notice(`  ! Not writing entities: ${join(root, "entities.json")} is not a JSON object`);
  else say(out, `  Entities saved: ${file}`);
  const registry = config.paths.knownEntitiesFile;
  const added = addKnownEntities(registry, found, wing);
  if (added === undefined) out.notice(`  ! Not writing ${registry}: not a JSON object, and could not be put aside`);
  else {
    if (added.keptAs !== undefined) out.notice(`  ! ${registry} was not a JSON object; kept as ${added.keptAs}`);
    say(out, `  Registry updated: ${registry}`);
  }
  return found;
}

function listOf(entities: readonly Entity[], label: string): string[] {
  const lines = entities.map(({ name, confidence, signals }, at) => {
    const full = Math.trunc(confidence * 5);
    const bar = "#".repeat(full) + ".".repeat(5 - full);
    const wide = name + " ".repeat(Math.max(0, NAME_WIDTH - Array.from(name).length));
    return `    ${String(at + 1).padStart(2)}. ${wide} [${bar}] ${signals.slice(0, 2).join(", ")}`;
  });
  return [`\n  ${label}:`, ...(lines.length > 0 ? lines : ["    (none detected)"])];
}
