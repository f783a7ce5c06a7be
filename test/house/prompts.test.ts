/** Checks that every value in a prompt template is quoted, because a memory's text could pass for the broker's words otherwise. */
import { basename } from "node:path";
import { expect, test } from "vitest";
import { importsOf, resolveImport, type SourceFile, sourceFiles } from "./source-files.ts";

const INJECTION = "src/learning/turn/injection.ts";
const outcome = sourceFiles("src/learning");
/** Files that make the texts for an agent's prompt: `injection.ts`, and every file that imports a function from it. */
const words = outcome.filter(
  (file) =>
    file.path === INJECTION ||
    importsOf(file).some(({ specifier, typesOnly }) => !typesOnly && resolveImport(file.path, specifier) === INJECTION),
);

/** Matches calls with a harmless result: a quoted text, an id or a number. */
const HARMLESS = /^(?:quoted|said|plainId|percent|cut)\([^()]*(?:\([^()]*(?:\([^()]*\))?[^()]*\))*[^()]*\)$/;
/** Matches values that cannot contain a memory's text: constants, numbers and counts. */
const OURS = /^(?:[A-Z][A-Z_]*(?:\[\w+\])?|at \+ 1|\w+\.length|[\w.]+\.toFixed\(\d\))$/;
/** Other values, by the reason why they need no quotes at this place. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  "notes, ages and collections are made of numbers and of words of ours": [
    'injection.ts notes.join(", ")',
    'recall.ts notes.join(", ")',
    ...[
      "recall.ts memory.collection",
      "recall.ts collection",
      "recall.ts meta",
      "recall.ts uses",
      "recall.ts ids.size",
    ],
    ...[
      "recent-exchanges.ts recency(madeMs, nowMs)",
      "user-profile.ts tag",
      'scoring-prompt.ts memories.length === 0 ? "" : " "',
    ],
  ],
  "its own templates are looked at": [
    'scoring-prompt.ts memories.map(({ id }) => ` "${plainId(id)}": "___"`).join(",")',
    'scoring-prompt.ts memories.map(({ id }) => `"${plainId(id)}": "___"`).join(", ")',
    "recall.ts part",
  ],
  "the caller quotes the whole, or has quoted it": [
    "injection.ts text.slice(0, MEMORY_MAX).toWellFormed()",
    "user-profile.ts space > 0 ? cut.slice(0, space) : cut",
    "scoring-prompt.ts text.slice(0, characters).toWellFormed()",
    "recent-exchanges.ts head(words, EXCHANGE_CHARACTERS)",
    'scoring-prompt.ts quoted(text).replaceAll(\'"\', "”")',
    ...["injection.ts open", "injection.ts letters"],
  ],
  "an answer about the agent's own arguments": [
    ...["recall.ts days", "recall.ts unknown", 'recall.ts SORTS.join(", ")', "recall.ts name", "recall.ts maximum"],
  ],
};
const known = new Set(Object.values(KNOWN).flat());

/** Returns the text of each `${…}`, including nested ones. */
function holes(text: string): string[] {
  const found: string[] = [];
  for (let at = text.indexOf("${"); at !== -1; at = text.indexOf("${", at + 2)) {
    let depth = 1;
    let end = at + 2;
    for (; depth > 0 && end < text.length; end += 1) depth += { "{": 1, "}": -1 }[text[end] ?? ""] ?? 0;
    found.push(text.slice(at + 2, end - 1).trim());
  }
  return found;
}

function bypasses(file: SourceFile): string[] {
  return holes(file.text.replaceAll(/\/\*[\s\S]*?\*\//g, ""))
    .filter((hole) => !HARMLESS.test(hole) && !OURS.test(hole))
    .map((hole) => `${basename(file.path)} ${hole}`);
}

test("every value in a prompt passes through quoted or plainId", () => {
  expect(words.map(({ path }) => path)).toContain("src/learning/turn/scoring-prompt.ts");
  const all = words.flatMap(bypasses);
  expect(all.filter((one) => !known.has(one))).toEqual([]);
  expect([...known].filter((one) => !all.includes(one))).toEqual([]);
  const bare = { path: INJECTION, text: "`[id:${id}] ${quoted(text)} ${flag ? `${text}` : other(quoted(text))}`" };
  expect(bypasses(bare)).toEqual([
    ...["injection.ts id", "injection.ts flag ? `${text}` : other(quoted(text))", "injection.ts text"],
  ]);
});

test("every text that a hook adds to a prompt passes through `fence`, which marks the text's end", () => {
  const texts = sourceFiles("src/agents").flatMap(({ path, text }) =>
    [...text.matchAll(/^export async function \w+Text\([\s\S]*?^}/gm)].map(([body]) => ({ path, body })),
  );
  expect(texts).toHaveLength(2);
  const returned = texts.flatMap(({ path, body }) =>
    [...body.matchAll(/^ {2}return (\w+)/gm)].map(([, call]) => `${basename(path)} ${call}`),
  );
  expect(returned).toEqual(["recall.ts fence", "wake-up.ts fence"]);
});
