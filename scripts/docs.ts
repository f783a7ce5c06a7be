/**
 * Writes the pages that are made from tables in the code. Run `node scripts/docs.ts` after changing a table; test/house checks the pages.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeCommands, type Described, type DescribedCommand } from "../src/cli/commands/described.ts";
import { manPage } from "../src/cli/commands/man.ts";
import { GROUPS, OLD_NAMES } from "../src/cli/commands/table.ts";
import { VARIABLES } from "../src/config/env.ts";
import { type Setting, SETTING_KEYS, SETTINGS } from "../src/config/settings-table.ts";
import { ERROR_CODES, type ErrorCode, EXIT_CODES, PalaceError } from "../src/base/errors.ts";
import { type Tool, TOOLS } from "../src/protocol/tools/table.ts";
import { PROMPTS } from "../src/protocol/prompts.ts";
import { RESOURCE_TEMPLATES, RESOURCES } from "../src/protocol/resources.ts";
import { MCP_VERSIONS, MODERN_MCP_VERSION } from "../src/protocol/version.ts";
import { DIFFERENCES, MISSING_FILES } from "../test/differential/differences.ts";
import { ROOT, runAsMain, type RunOptions } from "./main.ts";

const NOTE = "<!-- Written by `node scripts/docs.ts`; change the table it is made from instead. -->";

const SETTING_GROUPS = {
  model: "Search and the embedding model",
  broker: "Broker",
  backup: "Backups",
  agents: "Agents",
  learning: "Memory that learns",
  chroma: "The public palace and Chroma",
  mining: "Mining",
} as const satisfies Record<Setting["group"], string>;

const TAKES_EFFECT = {
  start: "`palace restart`",
  session: "an agent's next session",
  next: "at once",
} as const satisfies Record<Setting["takesEffect"], string>;

const VARIABLE_GROUPS = {
  place: "Folders",
  client: "Reaching the broker",
  broker: "The broker of one machine",
  harness: "Agents and feeders",
  machine: "The machine",
  traces: "OpenTelemetry",
} as const satisfies Partial<Record<(typeof VARIABLES)[keyof typeof VARIABLES]["group"], string>>;

/** Returns the generated pages, without the command pages, by path. */
export function pages(): Record<string, string> {
  return {
    "docs/reference/settings.md": settingsPage(),
    "docs/reference/errors.md": errorsPage(),
    "docs/reference/tools.md": toolsPage(),
    "docs/lab/differences.md": differencesPage(),
  };
}

/** Returns the pages about commands by path. Loads the file of every verb. */
export async function commandPages(): Promise<Record<string, string>> {
  const commands = await describeCommands();
  return { "docs/reference/commands.md": commandsPage(commands), "docs/reference/palace.1": manPage(commands) };
}

export async function run({ log }: RunOptions): Promise<number> {
  for (const [path, content] of Object.entries({ ...pages(), ...(await commandPages()) })) {
    writeFileSync(join(ROOT, path), content);
    log(`wrote ${path}`);
  }
  return 0;
}

function commandsPage(commands: readonly DescribedCommand[]): string {
  const link = (name: string): string => `[\`${name}\`](#palace-${name})`;
  const groups = Object.entries(GROUPS).map(([group, title]) => {
    const own = commands.filter((one) => one.group === group);
    const rows = own.map(({ name, does }) => [link(name), does]);
    return [`## ${title}`, table(["Verb", "Does"], rows), ...own.flatMap(commandSection)].join("\n\n");
  });
  const old = Object.entries(OLD_NAMES).map(([name, now]) => [`\`palace ${name}\``, `\`${now}\``]);
  return page(
    "Commands",
    "Every verb of `palace`. All of them take `--palace DIR` (another memory), `--json` (one JSON document on stdout) and `--help`. " +
      "`palace help VERB` prints the same text in the terminal.",
    [...groups, `## Old names\n\nThey still work, and print the new name on stderr.\n\n${table(["Old", "Now"], old)}`],
  );
}

function commandSection({ name, usage, example, subs }: DescribedCommand): string[] {
  const known = subs.map((sub) => [`\`${name} ${sub.name}\``, sub.does]);
  const own = subs.filter((sub: Described) => sub.usage !== "").map((sub) => fence(sub.usage));
  return [
    `### palace ${name}`,
    fence(usage),
    `Example: \`${example}\``,
    ...(known.length === 0 ? [] : [table(["Command", "Does"], known)]),
    ...own,
  ];
}

function fence(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}

function settingsPage(): string {
  const settings = Object.entries(SETTING_GROUPS).map(([group, title]) => {
    const rows = SETTING_KEYS.filter((key) => SETTINGS[key].group === group).map((key) => {
      const { kind, defaultText, meaning, takesEffect } = SETTINGS[key];
      return [`\`${key}\``, meaning, kind.takes, defaultText, TAKES_EFFECT[takesEffect]];
    });
    return `### ${title}\n\n${table(["Key", "Meaning", "Value", "Default", "Takes effect"], rows)}`;
  });
  const variables = Object.entries(VARIABLE_GROUPS).map(([group, title]) => {
    const rows = Object.entries(VARIABLES)
      .filter(([, variable]) => variable.group === group)
      .map(([name, variable]) => [`\`${name}\``, variable.meaning, variable.default]);
    return `### ${title}\n\n${table(["Variable", "Meaning", "Default"], rows)}`;
  });
  const spellings = Object.entries(VARIABLES)
    .filter(([, variable]) => variable.group === "spelling")
    .map(([name, { meaning }]) => `\`${name}\` (${meaning})`);
  return page("Settings", SETTINGS_INTRO, [
    ...["## Keys of settings.json", ...settings],
    ...["## Environment variables", VARIABLES_INTRO, ...variables],
    `### Other spellings\n\nThese are read as well, for set-ups that have them: ${spellings.join("; ")}.`,
    COMPOSE_SECTION,
  ]);
}

const SETTINGS_INTRO = `Persistent settings are in \`settings.json\` in the palace's folder (\`palace config path\` prints its path). The broker reads them,
no matter which agent starts it. The shim, the hooks and the feeders read them, too.

| Command | Does |
| --- | --- |
| \`palace config list\` | shows every key, its value, and the source of the value: environment, file, remembered or default |
| \`palace config get KEY\` | prints one value |
| \`palace config set KEY VALUE\` | checks the value, writes it, and says when the value takes effect; a bad value changes nothing |
| \`palace config unset KEY\` | removes a key, so that the default applies again |

You may also edit the file by hand. It is a JSON object; comments and trailing commas are allowed:

\`\`\`json
{
  // With this setting searches use meaning, whichever program starts the broker.
  "model-dir": "~/models/all-MiniLM-L6-v2",
  "idle-exit-minutes": 0
}
\`\`\`

- The environment wins over the file. The variable of a key is \`MEMPALACE_\` and the key in capitals: \`model-dir\` is \`MEMPALACE_MODEL_DIR\`. An empty variable counts as not set.
- \`listen\` and \`outcome-port\` are remembered when the environment sets them. The file wins over a remembered value.
- A broker does not start with a value that it cannot use, and says which key of which file is wrong. It ignores a key that it does not know, so that a newer version's file does no harm; \`palace doctor\` names the key.
- Tokens, passphrases and API keys do not belong in this file. \`palace config set\` refuses them and says what to use instead.
- The file is not part of a backup, and \`palace backup restore\` does not touch it: it names folders and doors of one machine. Copy it by hand if another machine should have the same settings.`;

const VARIABLES_INTRO = `These variables belong to one process, one machine or one agent, or they are secrets.`;

const COMPOSE_SECTION = `## In the compose stack

Variables of the broker's container (\`MEMPALACE_MODEL_DIR\`, ports, certificates) go into \`.env\` beside \`docker-compose.yml\`. Variables of the agents in the box (API keys, \`MEMPALACE_OUTCOMES\`) go into \`.env.devbox\`.

Both containers also read \`settings.json\` in the volume. The box cannot write it; on the host type \`docker compose exec broker palace config set KEY VALUE\`, then \`docker compose restart broker\`.`;

function differencesPage(): string {
  const rows = DIFFERENCES.map(({ name, versions, what, why }) => [name, versions.join(", "), what, why]);
  const files = MISSING_FILES.map(({ file, what, why }) => [`\`~/.mempalace/${file}\``, what, why]);
  return page(
    "Where we differ from MemPalace",
    "A test sends 1,500 seeded calls a version to the real Python MemPalace (3.3.6 and 3.11.0) and to us, on equal palaces with the same " +
      "model (`./scripts/test seeded test/differential`). The answers agree except for the differences below, and the last run met each of them.",
    [
      table(["Difference", "Against", "What differs", "Why"], rows),
      `## Files that we do not write\n\n${table(["File", "What MemPalace writes there", "Why we do not"], files)}`,
    ],
  );
}

function toolsPage(): string {
  const surfaces = {
    palace: ["Tools of the palace", "These tools have MemPalace's names, parameters and answers."],
    outcome: [
      "Tools of memory that learns",
      "These tools have Roampal's names. `palace config set outcomes on` turns them on.",
    ],
  } as const satisfies Record<Tool["surface"], readonly [string, string]>;
  const sections = Object.entries(surfaces).map(([surface, [title, intro]]) => {
    const rows = TOOLS.filter((tool) => tool.surface === surface).map(
      ({ fullName, description, kind, role, ...tool }) => [
        `\`${fullName}\``,
        description,
        Object.keys(tool.properties)
          .map((name) => (tool.required.includes(name) ? `**\`${name}\`**` : `\`${name}\``))
          .join(", "),
        kind,
        role,
      ],
    );
    return `## ${title}\n\n${intro}\n\n${table(["Tool", "Does", "Parameters", "Kind", "Least role"], rows)}`;
  });
  return page(
    "Tools",
    "The MCP tools that an agent sees. Required parameters are bold. `palace call tools` lists them, and `palace call NAME '{…}'` calls one.",
    [...sections, offersSection()],
  );
}

function offersSection(): string {
  const resources = [
    ...RESOURCES.map(({ uri, description }) => [`\`${uri}\``, "resource", description]),
    ...RESOURCE_TEMPLATES.map(({ uriTemplate, description }) => [`\`${uriTemplate}\``, "resource", description]),
  ];
  const prompts = PROMPTS.map(({ name, description, arguments: given }) => [
    `\`${name}\``,
    "prompt",
    `${description}. ${given.map((one) => `\`${one.name}\`: ${one.description}`).join("; ")}`,
  ]);
  const intro =
    `Clients of MCP ${MODERN_MCP_VERSION} find these resources and prompts as well. They also get every answer of the palace's tools as a value ` +
    `(\`structuredContent\`) that fits the tool's \`outputSchema\`. Clients of older revisions (${MCP_VERSIONS.toReversed().join(", ")}) ` +
    "get the same tools and answers; since 2025-03-26 with hints about what a tool does, since 2025-06-18 with titles.";
  return `## Resources and prompts\n\n${intro}\n\n${table(["Name", "Kind", "Is"], [...resources, ...prompts])}`;
}

function errorsPage(): string {
  const families = Object.entries(EXIT_CODES).map(([family, exit]) => {
    const rows = (Object.keys(ERROR_CODES) as ErrorCode[])
      .filter((code) => code.startsWith(`${family}_`))
      .map((code) => [`\`${code}\``, ERROR_CODES[code], new PalaceError(code, "", "").retryable ? "yes" : "no"]);
    return `## ${family}: exit code ${exit}\n\n${table(["Code", "Meaning", "Worth a retry"], rows)}`;
  });
  return page(
    "Errors",
    "Over JSON-RPC an error's `data` has `code`, `hint` (what to do next), `retryable` and sometimes `retryAfterMs`. On " +
      'the command line, an error is one sentence and one hint on stderr, or with `--json` `{"error":{"code","message","hint"}}`, with ' +
      "the family's exit code. For errors that MemPalace has too (an unknown tool, wrong arguments) the answer has MemPalace's words and no `data`. Exit code 70 means a bug, and 130 an interrupted command.",
    families,
  );
}

function page(title: string, intro: string, sections: string[]): string {
  return `# ${title}\n\n${NOTE}\n\n${intro}\n\n${sections.join("\n\n")}\n`;
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

if (import.meta.main) await runAsMain(run);
