/** Makes small changes of `src` that a test should notice. Uses rolldown's parser, because `typescript` 7 has no stable parser API. */
import { globSync, readFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";

export type Mutant = { room: string; file: string; line: number; was: string; now: string; text: string };
type Node = { type: string; start: number; end: number; [key: string]: unknown };

const PERMISSIONS = [
  "dispatch/permissions",
  "dispatch/methods",
  "dispatch/tool-call",
  "door/tokens",
  "door/guard",
  "door/listen",
  "peer",
];
const guards = PERMISSIONS.map((name) => `src/broker/${name}.ts`);
const filesIn = (folder: string): string[] => globSync(`${folder}/**/*.ts`).toSorted();
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  broker: filesIn("src/broker").filter((file) => !guards.includes(file)),
  ledger: filesIn("src/memory/ledger"),
  client: filesIn("src/wire/client"),
  transport: filesIn("src/wire/transport"),
  backup: filesIn("src/memory/backup"),
  permissions: [...guards, "src/protocol/tools/profile.ts"],
};
/** Lines whose change no test needs to notice, with the reason. */
const EQUIVALENT: readonly (readonly [RegExp, string])[] = [
  [/\blog\.\w+\(|\blog\(|\.write\(`/u, "text of a log"],
  [
    /_(MS|BYTES|MAX|SIZE|DAYS|LINES|TTL)\b.* = |[tT]imeout|\bdelay\(|setTimeout|setInterval|\.unref\(/u,
    "a limit's or a time's exact value",
  ],
  [/(?:PalaceError|wrongUsage|badValue|unavailable|unreadable)\(|^\s*[`"].*[`"],?$/u, "words of an error or a hint"],
];
const SWAPS: Readonly<Record<string, string>> = {
  ...{ "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===", "&&": "||", "||": "&&" },
  ...{
    true: "false",
    false: "true",
    null: "undefined",
    '"admin"': '"agent"',
    '"agent"': '"reader"',
    '"reader"': '"agent"',
  },
};

/** Returns a generator of numbers from 0 to 1 that depend only on `seed` (mulberry32). */
export function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function changed(literal: Node, text: string): string {
  if (typeof literal["value"] === "number") return String(literal["value"] + 1);
  return SWAPS[text] ?? (typeof literal["value"] === "string" ? '"mutant"' : text);
}

/** Yields [start, end, replacement] for each change at this node. */
function* changesAt(node: Node, parent: Node, source: string): Generator<[number, number, string]> {
  const child = (key: string): Node => node[key] as Node;
  const textOf = ({ start, end }: Node): string => source.slice(start, end);
  if (node["test"] && node.type !== "SwitchCase") {
    yield [child("test").start, child("test").end, `!(${textOf(child("test"))})`];
  } else if (node.type === "BinaryExpression" || node.type === "LogicalExpression") {
    const swapped = SWAPS[String(node["operator"])];
    if (swapped)
      yield [
        child("left").end,
        child("right").start,
        source.slice(child("left").end, child("right").start).replace(String(node["operator"]), swapped),
      ];
  } else if (node.type === "ExpressionStatement" && /^(await |void )?[\w.#?![\]]+\(/u.test(textOf(node))) {
    if (!textOf(node).startsWith("super")) yield [node.start, node.end, ";"];
  } else if (node.type === "Literal" && !/Import|Export|TS|ExpressionStatement/u.test(parent.type)) {
    const isReturned = parent.type === "ReturnStatement" || parent.type === "ArrowFunctionExpression";
    const isRole =
      parent.type === "Property" && parent["value"] === node && textOf(node) in SWAPS && textOf(node).startsWith('"');
    const isNumber = typeof node["value"] === "number" && parent["key"] !== node;
    if (isReturned || isRole || isNumber) yield [node.start, node.end, changed(node, textOf(node))];
  }
}

function* walk(node: Node, parent: Node): Generator<[Node, Node]> {
  yield [node, parent];
  for (const [key, value] of Object.entries(node))
    if (!/^(typeAnnotation|typeArguments|typeParameters|returnType)$/u.test(key))
      for (const child of Array.isArray(value) ? value : [value])
        if (typeof (child as Node | undefined)?.type === "string") yield* walk(child as Node, node);
}

export function mutantsOf(room: string, file: string): Mutant[] {
  const source = readFileSync(file, "utf8");
  const program = parseSync(file, source).program as unknown as Node;
  const all = [...walk(program, program)].flatMap(([node, parent]) =>
    [...changesAt(node, parent, source)].map(([start, end, replacement]): Mutant => {
      const text = source.slice(0, start) + replacement + source.slice(end);
      const line = source.slice(0, start).split("\n").length;
      return {
        room,
        file,
        line,
        was: source.split("\n")[line - 1]!.trim(),
        now: text.split("\n")[line - 1]!.trim(),
        text,
      };
    }),
  );
  return all.filter(({ was, text }) => text !== source && !EQUIVALENT.some(([pattern]) => pattern.test(was)));
}
