/** Checks the command table: its size, its examples, and that every name in it leads to a command. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandPages } from "../../scripts/docs.ts";
import { completionsFor, SHELLS } from "../../src/cli/commands/completions.ts";
import { describeCommands, wordsFor } from "../../src/cli/commands/described.ts";
import { LOADERS, SUB_LOADERS } from "../../src/cli/commands/load.ts";
import { type Synonym, SYNONYMS } from "../../src/cli/commands/synonyms.ts";
import { ALSO, type Command, COMMANDS, GROUPS, OLD_NAMES } from "../../src/cli/commands/table.ts";
import { ROOT } from "./source-files.ts";

const COLUMNS_MAX = 80;
/** Maximum number of verbs in the overview, without the group `programs`. */
const VERBS_MAX = 25;
/** Subverbs that are refused with a hint about what to type instead. */
const REFUSED = ["sync"];
const commands: [string, Command][] = Object.entries(COMMANDS);

/** Expects the table to have the call `palace VERB [SUB] …`. */
function expectKnown(call: string): void {
  const [palace, verb = "", sub = ""] = call.split(" ");
  expect(palace, call).toBe("palace");
  const command = commands.find(([name]) => name === verb)?.[1];
  expect(command, call).toBeDefined();
  if (/^[a-z][a-z-]*$/.test(sub)) expect(Object.keys(command?.subs ?? {}), call).toContain(sub);
}

test(`help lists at most ${VERBS_MAX} verbs, in groups, each within a terminal's width`, () => {
  const forPeople = commands.filter(([, { group }]) => group !== "programs");
  expect(forPeople.length).toBeLessThanOrEqual(VERBS_MAX);
  const order = Object.keys(GROUPS);
  const places = commands.map(([, { group }]) => order.indexOf(group));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  const width = Math.max(...commands.map(([name]) => name.length));
  for (const [name, { does }] of commands) expect(does.length + width + 4, name).toBeLessThanOrEqual(COLUMNS_MAX);
});

/** Matches the description of a call that deletes or replaces something. */
const HARM = /\b(delete|erase|remove|replace|revoke|undo|restore|end it)\b/;
/** Harmless calls whose descriptions match `HARM` anyway. */
const HARMLESS = ["history", "status ui", "backup", "config unset"];

test("each verb and subverb that deletes or replaces something is marked as harmful, and each mark names an existing subverb", () => {
  const isMarked = ({ harmful = [] }: Command, sub: string): boolean =>
    harmful === true || harmful.some((words) => words.split(" ").every((word) => sub.split(/\W+/).includes(word)));
  for (const [name, command] of commands) {
    const { does, subs = {}, harmful = [] } = command;
    if (HARM.test(does) && !HARMLESS.includes(name)) expect(harmful, name).toBe(true);
    for (const [sub, what] of Object.entries(subs)) {
      if (!HARM.test(what) || HARMLESS.includes(`${name} ${sub}`)) continue;
      expect(isMarked(command, `${sub}: ${what}`), `palace ${name} ${sub}`).toBe(true);
    }
    if (harmful === true) continue;
    for (const words of harmful) {
      const [sub = "", more] = words.split(" ");
      const what = name === "gate" ? sub : subs[sub as keyof typeof subs];
      expect(what, `palace ${name} ${words}`).toBeDefined();
      if (more !== undefined) expect(what).toContain(more);
    }
  }
});

test("the example of each verb calls that verb", () => {
  for (const [name, { example }] of commands) expect(example.split(" ").slice(0, 2), name).toEqual(["palace", name]);
});

test("each old name of a command leads to a call that is in the table of commands", () => {
  for (const call of Object.values(OLD_NAMES)) expectKnown(call);
  const names = [...Object.keys(COMMANDS), ...Object.keys(OLD_NAMES), ...Object.keys(ALSO)];
  expect(names.length).toBe(new Set(names).size);
});

test("a synonym is run only if its verb reads or adds", () => {
  const harmless = ["add", "config", "doctor", "history", "ls", "mine", "search", "show", "status"];
  const taken = [...Object.keys(COMMANDS), ...Object.keys(OLD_NAMES), ...Object.keys(ALSO)];
  const synonyms: [string, Synonym][] = Object.entries(SYNONYMS);
  for (const [word, { means, runs }] of synonyms) {
    expectKnown(means);
    expect(taken, word).not.toContain(word);
    if (runs === undefined) continue;
    expect(harmless, word).toContain(runs[0]);
    expect(means, word).toContain(`palace ${runs.join(" ")}`);
  }
});

/** Words that newcomers type, by the verb that does what they want. */
test.each(
  Object.entries({
    add: ["remember", "note", "create", "new", "save", "write"],
    ls: ["list", "memories", "wings", "browse"],
    show: ["get", "view", "cat", "open", "read"],
    search: ["find", "query", "recall", "ask", "grep"],
    history: ["log", "audit", "undo"],
    edit: ["update", "change", "modify"],
    rm: ["delete", "remove", "del", "unlink"],
    mine: ["ingest", "index", "sync"],
    up: ["setup", "init"],
    install: ["connect", "wire", "login", "agents"],
    status: ["ps", "info", "jobs", "web", "page"],
    doctor: ["health", "check"],
    backup: ["snapshot", "restore", "verify"],
  }).flatMap(([verb, words]) => words.map((word) => [word, verb])),
)("a newcomer who types palace %s gets palace %s as the answer", (word, verb) => {
  const led: Record<string, string> = {
    ...OLD_NAMES,
    ...Object.fromEntries(Object.entries(SYNONYMS).map(([one, { means }]) => [one, means])),
  };
  expect(led[word]?.split(" ")[1]).toBe(verb);
});

test("docs/reference/commands.md and the man page are what the table of commands generates", async () => {
  for (const [path, content] of Object.entries(await commandPages()))
    expect(readFileSync(join(ROOT, path), "utf8"), `${path}: run node scripts/docs.ts`).toBe(content);
});

test("the completions of each shell have every verb, subverb and option", async () => {
  const words = wordsFor(await describeCommands());
  const all = words.flatMap(({ name, flags, subs }) => [name, ...[...flags, ...subs].map((one) => one.name)]);
  for (const shell of SHELLS) {
    const text = completionsFor(shell, words);
    const missing = all.filter((word) => !new RegExp(`(^|[\\s'"-])${word}\\b`, "m").test(text));
    expect(missing, shell).toEqual([]);
  }
});

test("the table of commands lists every subverb that is loaded or that its verb accepts", async () => {
  for (const [name, { subs = {} }] of commands) {
    const own = Object.keys((await LOADERS[name as keyof typeof LOADERS]()).verb.subs ?? {});
    const loaded = Object.keys(SUB_LOADERS[name as keyof typeof SUB_LOADERS] ?? {});
    expect(Object.keys(subs), name).toEqual(
      expect.arrayContaining([...loaded, ...own.filter((sub) => !REFUSED.includes(sub))]),
    );
  }
});
