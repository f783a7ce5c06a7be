/** Decides by names which files are documentation and which folders are never entered. Source: palace.md 5.1, upstream's files. */
import { extname } from "node:path";
import { words } from "../words.ts";
import { PROJECT_FILES } from "../../base/project-names.ts";

/** `sniff`: file it if its first line names a shell. `weigh`: file it if it is prose. `leave`: skip it. `refuse`: skip and report it. */
export type Verdict = { kind: "take" | "sniff" | "weigh" | "leave" | "refuse"; why: string; outcome?: string };

const PROSE = new Set([".md", ".mdx", ".rst"]);
const TEXT = new Set([".txt", ".yml", ".yaml", ".toml"]);
const SHELL = new Set([".sh", ".bash", ".zsh"]);

/** JSON files that people write by hand to describe how a project works; all other JSON is data. */
const JSON_DOCUMENT = new RegExp(
  "^(?:(?:package|composer|deno|manifest|renovate|turbo|nx|lerna|biome|devcontainer)" +
    "|[tj]sconfig(?:[.-][\\w.-]+)?|(?:openapi|swagger)(?:[.-][\\w.-]+)?|[\\w.-]+\\.(?:schema|openapi|swagger))\\.json$",
  "i",
);
const BUILD_RECIPE =
  /^(?:Dockerfile(?:[.-].+)?|.+\.dockerfile|Containerfile(?:[.-].+)?|(?:GNU)?makefile|.+\.mk|\.?justfile|.+\.just)$/i;
const PLAIN_DOCUMENT =
  /^(?:licen[sc]e|copying|notice|authors|contributors|contributing|maintainers|changelog|changes|history|install|security|readme)$/i;
/** Matches LICENSE-MIT, LICENCE_APACHE-2.0, COPYING.LESSER, but only in capitals, so that license-check.ts stays source code. */
const LICENCE_VARIANT = /^(?:LICEN[SC]E|COPYING)[-_.][A-Z0-9._-]+$/;

const LOCKFILE =
  /(?:\.(?:lock|lockb|lockfile)|(?:^|[-._])(?:lock|lockfile|shrinkwrap)\.(?:json|ya?ml|toml|txt)|^pylock\.(?:.+\.)?toml)$/i;
const UPSTREAM_FILE = new Set<string>([...PROJECT_FILES, "entities.json"]);

const SECRET_FILE =
  /^(?:\.env|\.envrc|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|kubeconfig|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?)(?:[._-].*)?$/i;
const SECRET_KIND = /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg|asc)$/i;
const SECRET_WORDS = new Set(words("secret secrets credential credentials password passwords passwd htpasswd"));

const FOLDERS: Readonly<Record<string, string>> = {
  "version control": ".git .hg .svn .bzr .jj _darcs CVS",
  "installed packages": "node_modules bower_components site-packages .yarn .pnpm-store .eggs",
  "a virtual environment": ".venv venv env virtualenv .direnv .tox .nox",
  "build output": "dist build target .next .nuxt .output .svelte-kit coverage htmlcov",
  "a cache":
    "__pycache__ .cache .ruff_cache .mypy_cache .pytest_cache .ipynb_checkpoints .parcel-cache .turbo .gradle .terraform .nyc_output",
  "editor state": ".idea .vscode",
  "palace files": ".mempalace",
  "keys and credentials": ".ssh .gnupg .aws .azure .kube",
};
const FOLDER_REASON = new Map(
  Object.entries(FOLDERS).flatMap(([why, names]) => words(names).map((name) => [name, why] as const)),
);

/** Returns the reason if the folder is never entered. `entries`: names in the folder. */
export function folderRefusal(name: string, entries: readonly string[]): string | undefined {
  const why = FOLDER_REASON.get(name) ?? (name.endsWith(".egg-info") ? "installed packages" : undefined);
  if (why !== undefined) return why;
  if (entries.includes("pyvenv.cfg")) return "a virtual environment";
  return entries.includes("CACHEDIR.TAG") ? "a cache" : undefined;
}

export function judgeName(name: string): Verdict {
  const kind = extname(name).toLowerCase();
  if (UPSTREAM_FILE.has(name)) return { kind: "leave", why: "one of the palace's own project files" };
  if (PROSE.has(kind)) return { kind: "take", why: `prose (${kind})` };
  if (LOCKFILE.test(name)) return { kind: "leave", why: "a lockfile" };
  if (SECRET_FILE.test(name) || SECRET_KIND.test(name)) return { kind: "refuse", why: "looks like a secret" };
  if (SHELL.has(kind)) return { kind: "take", why: `a shell script (${kind})` };
  if (BUILD_RECIPE.test(name)) return { kind: "take", why: "a build recipe" };
  if (PLAIN_DOCUMENT.test(name) || LICENCE_VARIANT.test(name)) return { kind: "take", why: "a document by its name" };
  if (kind === ".json" && !JSON_DOCUMENT.test(name)) return { kind: "leave", why: "JSON that is data" };
  if (kind !== "" && kind !== ".json" && !TEXT.has(kind)) return { kind: "leave", why: `not documentation (${kind})` };
  const parts = name.toLowerCase().split(/[^a-z0-9]+/);
  // A .txt file may be a chapter about passwords, so its text decides.
  if (parts.some((word) => SECRET_WORDS.has(word)))
    return { kind: kind === ".txt" ? "weigh" : "refuse", why: "looks like a secret" };
  if (kind === "") return { kind: "sniff", why: "no extension" };
  return { kind: "take", why: kind === ".json" ? "JSON that describes the project" : `text (${kind})` };
}

export function isShellScript(head: string): boolean {
  return /^#!\s*\S*\/(?:env\s+(?:-\S+\s+)*)?(?:\S*\/)?(?:ba|z|da|k)?sh(?:\s|$)/.test(head);
}
