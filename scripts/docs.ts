/**
 * Writes docs/reference/settings.md, docs/reference/errors.md and docs/lab/differences.md from the tables that the code or its differential test
 * uses. Run `node scripts/docs.ts` after a change to one of them; test/house checks that the pages are up to date. `pages`
 * returns their content, so tests need no files.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { VARIABLES } from "../src/config/env.ts";
import { ERROR_CODES, type ErrorCode, EXIT_CODES, PalaceError } from "../src/protocol/errors.ts";
import { DIFFERENCES, MISSING_FILES } from "../test/differential/differences.ts";
import { ROOT, runAsMain, type RunOptions } from "./main.ts";

const NOTE = "<!-- Written by `node scripts/docs.ts`; change the table it is made from instead. -->";

const GROUPS = {
  place: "Where things live",
  client: "Clients: shim, feeders, command line",
  harness: "Inside the agents: hooks, pi extension, opencode plugin",
  broker: "Broker",
  search: "Search and the embedding model",
  upstream: "Upstream's own, with their meaning kept",
  test: "Tests only",
} as const satisfies Record<(typeof VARIABLES)[keyof typeof VARIABLES]["group"], string>;

/** Path from the root → content. */
export function pages(): Record<string, string> {
  return {
    "docs/reference/settings.md": environmentPage(),
    "docs/reference/errors.md": errorsPage(),
    "docs/lab/differences.md": differencesPage(),
  };
}

export function run({ log }: RunOptions): Promise<number> {
  for (const [path, content] of Object.entries(pages())) {
    writeFileSync(join(ROOT, path), content);
    log(`wrote ${path}`);
  }
  return Promise.resolve(0);
}

function environmentPage(): string {
  const sections = Object.entries(GROUPS).map(([group, title]) => {
    const rows = Object.entries(VARIABLES)
      .filter(([, variable]) => variable.group === group)
      .map(([name, variable]) => [`\`${name}\``, variable.meaning, variable.default]);
    return `## ${title}\n\n${table(["Variable", "Meaning", "Default"], rows)}`;
  });
  return page(
    "Environment",
    "Every variable that any of our executables reads, read in one place (`src/config/env.ts`). Empty counts as not set.",
    sections,
  );
}

function differencesPage(): string {
  const rows = DIFFERENCES.map(({ name, versions, what, why }) => [name, versions.join(", "), what, why]);
  const files = MISSING_FILES.map(({ file, what, why }) => [`\`~/.mempalace/${file}\``, what, why]);
  return page(
    "Where we differ from MemPalace",
    "1,500 seeded calls a version go to the real Python MemPalace (3.3.6 and 3.11.0) and to us, on equal palaces with the same " +
      "model (`./scripts/test differential`). The answers agree but for what is listed here, and each entry was met in the last run.",
    [
      table(["Difference", "Against", "What is otherwise", "Why"], rows),
      `## Files that we do not write\n\n${table(["File", "What MemPalace writes there", "Why we do not"], files)}`,
    ],
  );
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
    "Over JSON-RPC an error's `data` holds `code`, `hint` (what to do next), `retryable` and sometimes `retryAfterMs`. On " +
      'the command line: one sentence and one hint on stderr, or with `--json` `{"error":{"code","message","hint"}}`, and ' +
      "the family's exit code. For errors that MemPalace has too (an unknown tool, wrong arguments) the answer has its words and no `data`. Exit code 70 means a bug of ours, 130 that the command was interrupted.",
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
