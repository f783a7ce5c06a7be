/** Types and helpers for finding rivals: settings and programs that an agent uses instead of or beside ours, or that disable ours. */
import { dirname, join } from "node:path";
import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";
import type { AgentPlaces } from "../../../config/agents.ts";
import { isRecord } from "../../../base/parse-json.ts";
import type { Launch } from "../agent-files.ts";
import { valueOf } from "../draft.ts";
import { looksOurs } from "../wire-entries.ts";

export type Rival = {
  what: string;
  /** File and line of the rival's setting, or the rival's folder. */
  where: string;
  /** Effect of the rival on the agent, as a text for the user. */
  wins: string;
  takeOut: string;
};

/** `read` returns undefined and `names` returns an empty list for an unreadable path. */
export type Look = {
  places: AgentPlaces;
  launch: Launch;
  /** The user's current folder, where agents read a project's settings. */
  cwd: string;
  version: string | undefined;
  read: (path: string) => string | undefined;
  names: (folder: string) => string[];
  isFolder: (path: string) => boolean;
};

export type RivalRow = { name: string; find: (look: Look) => Rival[] };

export const SERVER = "mempalace";
export const OUR_NAME = new RegExp(`^${SERVER}$`);
export const ROAMPAL = /^@?roampal/i;

/** JSON file that may have comments and trailing commas. */
export class Sheet {
  readonly path: string;
  readonly text: string;
  readonly root: Node | undefined;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text.replace(/^\uFEFF/, "");
    try {
      this.root = parseTree(this.text, [], { allowTrailingComma: true, allowEmptyContent: true });
    } catch {
      // The JSON is nested too deeply for the parser; `palace install` reports such a file.
      this.root = undefined;
    }
  }

  at(...keys: string[]): Node | undefined {
    return keys.reduce<Node | undefined>((node, key) => valueOf(node, key), this.root);
  }

  value(...keys: string[]): unknown {
    const node = this.at(...keys);
    return node === undefined ? undefined : getNodeValue(node);
  }

  members(...keys: string[]): { name: string; node: Node }[] {
    const object = this.at(...keys);
    if (object?.type !== "object") return [];
    return (object.children ?? []).flatMap(({ children: [key, node] = [] }) =>
      node === undefined ? [] : [{ name: String(key?.value), node }],
    );
  }

  words(...keys: string[]): string[] {
    const value = this.value(...keys);
    return Array.isArray(value) ? value.filter((word) => typeof word === "string") : [];
  }

  where(node: Node | undefined): string {
    return node === undefined ? this.path : `${this.path}:${this.#place(node.offset).line}`;
  }

  /** Returns the position of the first text that strict JSON does not allow; undefined if the file is strict JSON. */
  notStrict(): { line: number; column: number; what: string } | undefined {
    if (this.text.trim() === "") return undefined;
    const errors: ParseError[] = [];
    parseTree(this.text, errors, { disallowComments: true });
    const [first] = errors;
    if (first === undefined) return undefined;
    if (this.text.startsWith("/", first.offset)) return { ...this.#place(first.offset), what: "a comment" };
    const before = this.text.slice(0, first.offset).trimEnd();
    if (!/[\]}]/.test(this.text.charAt(first.offset)) || !before.endsWith(","))
      return { ...this.#place(first.offset), what: "no JSON" };
    return { ...this.#place(before.length - 1), what: "a comma behind the last member" };
  }

  #place(offset: number): { line: number; column: number } {
    const before = this.text.slice(0, offset).split(/\r\n|\n|\r/);
    return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
  }
}

export function sheetsOf(look: Look, paths: readonly string[]): Sheet[] {
  return [...new Set(paths)].flatMap((path) => {
    const text = look.read(path);
    return text === undefined ? [] : [new Sheet(path, text)];
  });
}

/** Returns true if the server's entry is enabled and starts our shim. */
export function isOurServer(node: Node, { launch: { shim } }: Look): boolean {
  const [command, ...args] = shim;
  const value: unknown = getNodeValue(node);
  if (!isRecord(value) || value["enabled"] === false || value["disabled"] === true) return false;
  return looksOurs(value, { command, args });
}

/** Lists the servers in the object at `keys` whose name matches and that do not start our shim. */
export function rivalServers(
  look: Look,
  sheet: Sheet,
  names: readonly RegExp[],
  ...keys: string[]
): { name: string; node: Node }[] {
  return sheet
    .members(...keys)
    .filter(({ name, node }) => names.some((one) => one.test(name)) && !isOurServer(node, look));
}

export function upwards(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...upwards(above)];
}

/** Returns the folder and the root of its repository: an agent reads the project's settings in both. */
export function projectFolders({ cwd, names }: Look): string[] {
  const root = upwards(cwd).find((folder) => names(folder).includes(".git"));
  return [...new Set([cwd, ...(root === undefined ? [] : [root])])];
}

export function filesNamed(look: Look, folders: readonly string[], name: RegExp): string[] {
  return folders.flatMap((folder) =>
    look
      .names(folder)
      .filter((one) => name.test(one))
      .map((one) => join(folder, one)),
  );
}
