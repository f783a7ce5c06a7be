/** Adds our entries to another program's JSON file (wire) and removes them (unwire). */
import { getNodeValue, type Node } from "jsonc-parser";
import { isRecord } from "../../base/parse-json.ts";
import { type Draft, propertyOf, valueOf } from "./draft.ts";

type Json = Record<string, unknown>;

export type Want =
  /** `keys`: keys of the objects around the entry, outermost first, then the entry's name. */
  | { kind: "entry"; keys: readonly [string, string, ...string[]]; value: Json }
  /** `allow`: permission rules beside the hooks; records of older installs have none. */
  | { kind: "hooks"; events: readonly string[]; hook: Hook; allow?: readonly string[] };
type Hook = Json & { command: string };

/** The file before our change. `kept`: key paths of lists and objects that existed. `was`: text of an entry with our name. */
export type Before = { kept: string[]; was: string | null };

/** Matches the path of Node at the start of a hook's command, if the command has one. */
const NODE = String.raw`(?:(?:[^\s'"&;|<>]*\/)?node |'(?:[^']*\/)?node' )?`;
/** Matches commands that start our server. `mempalace-mcp` is not matched, because MemPalace has a program of that name, too. */
const OUR_SERVER = /^(?:(?:.*\/)?palace shim|(?:.*\/)?node .*\/dist\/bin\/mp-shim\.cjs)(?: --palace .*)?$/;
/** Matches a whole hook command as any version of our install writes it. A longer command that contains ours belongs to the user. */
const OUR_HOOK = new RegExp(
  String.raw`^${NODE}(?:(?:[^\s'"&;|<>]*\/)?palace(?:\.js)?|'(?:[^']*\/)?palace(?:\.js)?') hook claude-code(?: --palace (?:'[^']*'|[^\s'"&;|<>]+))?(?: \|\| :)?$`,
);

/** Adds our entries. Errors: CONFIG_BAD_VALUE with line and column if a list or object of the agent has another type. */
export function wire(draft: Draft, want: Want): void {
  if (want.kind === "entry") return wireEntry(draft, want.keys, want.value);
  for (const event of want.events) wireHook(draft, event, want.hook);
  for (const rule of want.allow ?? []) allowRule(draft, rule);
}

function wireEntry(draft: Draft, keys: readonly string[], value: Json): void {
  let entries = draft.root();
  for (const [depth, key] of keys.slice(0, -1).entries()) {
    const inner = valueOf(entries, key);
    const missing = keys.slice(depth + 1).reduceRight<Json>((one, name) => ({ [name]: one }), value);
    if (inner === undefined) return draft.insert(entries, key, missing);
    if (inner.type !== "object") throw draft.error(inner.offset, `: ${pathOf(keys, depth + 1)} is not an object`);
    entries = inner;
  }
  const name = keys.at(-1) ?? "";
  const entry = valueOf(entries, name);
  if (entry === undefined) return draft.insert(entries, name, value);
  // Replaces a remote server's entry, because its keys contradict ours. A local entry keeps its other keys, such as its environment.
  const isLocal = entry.type === "object" && propertyOf(entry, "url") === undefined;
  if (!isLocal) return draft.replace(entry, draft.source(entry, value));
  settle(draft, () => nodeAt(draft, keys), value);
}

function nodeAt(draft: Draft, keys: readonly string[]): Node | undefined {
  return keys.reduce<Node | undefined>(valueOf, draft.root());
}

/** Joins the first `depth` keys with full stops, as in a record. */
const pathOf = (keys: readonly string[], depth: number): string => keys.slice(0, depth).join(".");

/** Sets the members that differ. Calls `find` before each edit, because an edit changes the offsets of the text after it. */
function settle(draft: Draft, find: () => Node | undefined, value: Json): void {
  for (const [key, wanted] of Object.entries(value)) {
    const node = find();
    const there = valueOf(node, key);
    const isThere = there === undefined ? Array.isArray(wanted) && wanted.length === 0 : same(there, wanted);
    if (isThere) continue;
    if (there === undefined) draft.insert(node, key, wanted);
    else draft.replace(there, draft.source(there, wanted));
  }
}

function wireHook(draft: Draft, event: string, hook: Hook): void {
  const root = draft.root();
  const group = { hooks: [hook] };
  const hooks = valueOf(root, "hooks");
  if (hooks === undefined) return draft.insert(root, "hooks", { [event]: [group] });
  if (hooks.type !== "object") throw draft.error(hooks.offset, ": hooks is not an object");
  const groups = valueOf(hooks, event);
  if (groups === undefined) return draft.insert(hooks, event, [group]);
  if (groups.type !== "array") throw draft.error(groups.offset, `: hooks.${event} is not a list`);
  if (ourHook(draft, event, hook) === undefined) return draft.insert(groups, undefined, group);
  settle(draft, () => ourHook(draft, event, hook)?.hook, hook);
}

/** Adds the rule unless the user has a rule about the whole server. */
function allowRule(draft: Draft, rule: string): void {
  const root = draft.root();
  const permissions = valueOf(root, "permissions");
  if (permissions === undefined) return draft.insert(root, "permissions", { allow: [rule] });
  if (permissions.type !== "object") throw draft.error(permissions.offset, ": permissions is not an object");
  if (["allow", "ask", "deny"].some((list) => rulesOf(permissions, list, rule).length > 0)) return;
  const allowed = valueOf(permissions, "allow");
  if (allowed === undefined) return draft.insert(permissions, "allow", [rule]);
  if (allowed.type !== "array") throw draft.error(allowed.offset, ": permissions.allow is not a list");
  draft.insert(allowed, undefined, rule);
}

/** Lists the rules about a whole server, `mcp__NAME` or `mcp__NAME__*`. */
function rulesOf(permissions: Node | undefined, list: string, rule: string): Node[] {
  const rules = valueOf(permissions, list)?.children ?? [];
  return rules.filter(({ value }) => value === rule || value === `${rule}__*`);
}

type HookPlace = { groups: Node; group: Node; hooks: Node; hook: Node };

function ourHook(draft: Draft, event: string, { command }: Hook): HookPlace | undefined {
  const isOurs = (text: string): boolean => text === command || OUR_HOOK.test(text);
  const groups = valueOf(valueOf(draft.root(), "hooks"), event);
  if (groups?.type !== "array") return undefined;
  for (const group of groups.children ?? []) {
    const hooks = valueOf(group, "hooks");
    if (hooks?.type !== "array") continue;
    const hook = hooks.children?.find((one) => isOurs(String(valueOf(one, "command")?.value ?? "")));
    if (hook !== undefined) return { groups, group, hooks, hook };
  }
  return undefined;
}

/** Returns true if the file contains any of our entries. With `isRecorded`, an entry with our name counts even if it was changed. */
export function holds(draft: Draft, want: Want, isRecorded: boolean): boolean {
  if (want.kind === "hooks") return want.events.some((event) => ourHook(draft, event, want.hook) !== undefined);
  const entry = nodeAt(draft, want.keys);
  return entry !== undefined && (isRecorded || looksOurs(getNodeValue(entry), want.value));
}

/** Returns the recorded entry if its keys differ from the keys that the agent's present version uses. */
export function movedFrom(want: Want, was: Want | null | undefined): Want | undefined {
  if (want.kind !== "entry" || was?.kind !== "entry") return undefined;
  return was.keys.join(".") === want.keys.join(".") ? undefined : was;
}

/** Returns true if an entry starts our shim, in any form that a version of our install writes. */
export function looksOurs(value: unknown, wanted: Json): boolean {
  if (!isRecord(value)) return false;
  const line = wordsOf(value).join(" ");
  return line === wordsOf(wanted).join(" ") || OUR_SERVER.test(line);
}

function wordsOf({ command, args }: Json): unknown[] {
  return [command, args].flat().filter((word) => typeof word === "string");
}

/** Returns the state that an uninstall restores. Call this function before anything is added. */
export function lookBefore(draft: Draft, want: Want): Before {
  const root = draft.root();
  const kept: string[] = [];
  if (want.kind === "hooks") {
    const hooks = valueOf(root, "hooks");
    if (hooks !== undefined) kept.push("hooks");
    const permissions = valueOf(root, "permissions");
    if (permissions !== undefined) kept.push("permissions");
    if (valueOf(permissions, "allow") !== undefined) kept.push("permissions.allow");
    kept.push(...(want.allow ?? []).filter((rule) => rulesOf(permissions, "allow", rule).length > 0));
    return { kept: [...kept, ...want.events.filter((event) => valueOf(hooks, event) !== undefined)], was: null };
  }
  for (let depth = 1; depth < want.keys.length; depth += 1)
    if (nodeAt(draft, want.keys.slice(0, depth)) !== undefined) kept.push(pathOf(want.keys, depth));
  const entry = nodeAt(draft, want.keys);
  return { kept, was: entry === undefined ? null : draft.textOf(entry) };
}

/** Removes our entries, and the empty lists and objects around them that the install made. */
export function unwire(draft: Draft, want: Want, before: Before | undefined): void {
  const { kept, was } = before ?? { kept: [], was: null };
  if (want.kind === "entry") {
    if (!holds(draft, want, before !== undefined)) return;
    const containers = want.keys.slice(0, -1);
    const entries = nodeAt(draft, containers);
    const entry = valueOf(entries, want.keys.at(-1) ?? "");
    if (entries === undefined || entry === undefined) return;
    if (was !== null) return draft.replace(entry, was);
    draft.remove(entries, entry.parent ?? entry);
    // If several entries have our name, removes all of them: a remaining entry would become active.
    if (holds(draft, want, before !== undefined)) return unwire(draft, want, before);
    return prune(draft, containers, kept);
  }
  // A permission rule does not show who added it. Without a record, it counts as ours only if our hooks are in the file.
  const isOurs = before !== undefined || holds(draft, want, false);
  for (const event of want.events) unwireHook(draft, event, want.hook, kept);
  if (isOurs) for (const rule of want.allow ?? []) if (!kept.includes(rule)) disallow(draft, rule, kept);
}

function disallow(draft: Draft, rule: string, kept: readonly string[]): void {
  const allowed = valueOf(valueOf(draft.root(), "permissions"), "allow");
  const node = allowed?.children?.find(({ value }) => value === rule);
  if (allowed === undefined || node === undefined) return;
  draft.remove(allowed, node);
  const permissions = valueOf(draft.root(), "permissions");
  const list = propertyOf(permissions, "allow");
  const isLeft = kept.includes("permissions.allow") || !isBlank(draft, list);
  if (permissions !== undefined && list !== undefined && !isLeft) draft.remove(permissions, list);
  prune(draft, ["permissions"], kept);
}

function unwireHook(draft: Draft, event: string, ours: Hook, kept: readonly string[]): void {
  let hasRemoved = false;
  for (let place = ourHook(draft, event, ours); place !== undefined; place = ourHook(draft, event, ours)) {
    hasRemoved = true;
    const isOurGroup = place.hooks.children?.length === 1 && place.group.children?.length === 1;
    if (isOurGroup) draft.remove(place.groups, place.group);
    else draft.remove(place.hooks, place.hook);
  }
  if (!hasRemoved) return;
  const hooks = valueOf(draft.root(), "hooks");
  const list = propertyOf(hooks, event);
  const isLeft = kept.includes(event) || !isBlank(draft, list);
  if (hooks !== undefined && list !== undefined && !isLeft) draft.remove(hooks, list);
  prune(draft, ["hooks"], kept);
}

/** Removes empty containers, from the innermost. Keeps a container that existed before the install, and the containers around it. */
function prune(draft: Draft, containers: readonly string[], kept: readonly string[]): void {
  const parent = nodeAt(draft, containers.slice(0, -1));
  const property = propertyOf(parent, containers.at(-1) ?? "");
  const isLeft = kept.includes(containers.join(".")) || !isBlank(draft, property);
  if (parent === undefined || property === undefined || isLeft) return;
  draft.remove(parent, property);
  if (containers.length > 1) prune(draft, containers.slice(0, -1), kept);
}

/** Returns true if the property's value has no member and no comment, and if no other property has the same name. */
function isBlank(draft: Draft, property: Node | undefined): boolean {
  const [key, value] = property?.children ?? [];
  const twins = property?.parent?.children?.filter((one) => one.children?.[0]?.value === key?.value) ?? [];
  return twins.length === 1 && value !== undefined && /^(?:\{\s*\}|\[\s*\])$/.test(draft.textOf(value));
}

function same(node: Node, wanted: unknown): boolean {
  return JSON.stringify(getNodeValue(node)) === JSON.stringify(wanted);
}
