import { expect, test } from "vitest";
import { sourceFiles } from "./source-files.ts";

const DOCUMENTED = [
  "src/wire/client/",
  "src/wire/transport/",
  "src/wire/shim.ts",
  "src/wire/bridge/",
  "src/memory/port/",
  "src/bin/library.ts",
  "src/protocol/spec.ts",
  "src/base/errors.ts",
];

const EXPORT =
  /^export (?:declare )?(?:(?:async )?function\*? |(?:abstract )?class |type |interface |const )(\w+)(.*)$/;
const files = sourceFiles("src").filter(({ path }) => DOCUMENTED.some((place) => path.startsWith(place)));

type Exported = { name: string; isFunction: boolean; docstring: string };

/** Returns a file's exports. A constant counts only if it is a function. A missing docstring is an empty string. */
function exportsOf(text: string): Exported[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const [, name = "", rest = ""] = EXPORT.exec(line) ?? [];
    if (name === "" || (line.startsWith("export const") && !rest.includes("=>"))) return [];
    const isFunction = /^export (?:async )?(?:function|const)/.test(line);
    if (lines[at - 1]?.trimEnd().endsWith("*/") !== true) return [{ name, isFunction, docstring: "" }];
    const block = lines
      .slice(
        lines.slice(0, at).findLastIndex((one) => one.startsWith("/**")),
        at,
      )
      .join(" ");
    return [{ name, isFunction, docstring: block.replaceAll(/\s*\*+\/?\s+|\/\*\*\s+|\*\//g, " ").trim() }];
  });
}

/** Returns true if a function's docstring begins with a verb ("Returns …", "True when …"), or a type's docstring with a capital letter. */
function isWell({ isFunction, docstring }: Exported): boolean {
  return (isFunction ? /^(?!Errors)(?:True|False|[A-Z][a-z]+s)\b/ : /^(?!Errors\b)[A-Z]/).test(docstring);
}

test("every exported function, class and type in the listed folders has a docstring that begins with a verb or a noun", () => {
  for (const place of DOCUMENTED)
    expect(
      files.filter(({ path }) => path.startsWith(place)),
      place,
    ).not.toEqual([]);
  const silent = files.flatMap(({ path, text }) =>
    exportsOf(text)
      .filter((one) => !isWell(one))
      .map(({ name, docstring }) => `${path}: ${name}: ${docstring}`),
  );
  expect(silent).toEqual([]);
});

test("the check of docstrings finds an export of any kind without a docstring", () => {
  const text = [
    "/** File. */",
    'import { x } from "x";',
    ...["export function a() {}", "export async function b() {}", "export class C {}", "export type D = 1;"],
    ...["export interface E {}", "export const f = () => 1;", "export const G = 1;"],
    ...["function own() {}", 'export type { I } from "x";'],
    ...["/** Errors: none. */", "export function j() {}", "/** `k`: a key. */", "export type K = 1;"],
    ...[
      "/** Returns one. */",
      "export function l() {}",
      "/**",
      " * A noun",
      " * of two lines.",
      " */",
      "export class M {}",
    ],
  ];
  const found = exportsOf(text.join("\n"));
  expect(found.filter((one) => !isWell(one)).map(({ name }) => name)).toEqual([..."abCDEfjK"]);
  expect(found.filter(isWell).map(({ docstring }) => docstring)).toEqual(["Returns one.", "A noun of two lines."]);
});
