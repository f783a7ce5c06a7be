/** Decides by names which files upstream's project miner reads. Source: palace.md 5.1 and the miner module of 3.11. */
import { extname } from "node:path";
import type { Verdict } from "./document-names.ts";
import { words } from "../words.ts";
import { PROJECT_FILES } from "../../base/project-names.ts";

const READABLE = new Set([
  ...words(".txt .md .py .js .ts .jsx .tsx .json .jsonl .yaml .yml .html .css .java .go .rs .swift .kt .kts .rb .sh"),
  ...words(".csv .sql .toml .tex .bib .c .h .cpp .hpp .cc .cxx .inl .cs .csproj .sln .razor .cshtml .al .ps1"),
  ...words(".php .php3 .php4 .php5 .php7 .php8 .phtml .phps .phpt .inc .aw .fcgi .ctp .module .install .profile"),
  ...words(".theme .engine .twig .blade .tpl .latte .volt"),
]);
const SKIPPED = new Set<string>([
  ...PROJECT_FILES,
  ...words("entities.json .gitignore"),
  ...words("package-lock.json pnpm-lock.yaml yarn.lock"),
]);
/** Folders that are never entered, neither for documents nor for transcripts. */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  ...words(".git node_modules __pycache__ .venv venv env dist build .next coverage .mempalace .ruff_cache .mypy_cache"),
  ...words(".pytest_cache .cache .tox .nox .idea .vscode .ipynb_checkpoints .eggs htmlcov target"),
]);

export function judgeReadable(name: string): Verdict {
  if (SKIPPED.has(name)) return { kind: "leave", why: "one of the files upstream never reads" };
  const kind = extname(name).toLowerCase();
  if (READABLE.has(kind)) return { kind: "take", why: `text (${kind})` };
  return { kind: "leave", why: kind === "" ? "no extension" : `not text (${kind})` };
}

export function skippedFolder(name: string): string | undefined {
  return SKIPPED_FOLDERS.has(name) || name.endsWith(".egg-info") ? "a folder upstream never enters" : undefined;
}
