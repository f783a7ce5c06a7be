/** Reads what `mempalace init` stored: names, which tag drawers, and topics, which link wings. Source: palace.md 3.9. */
import { anyCase } from "../../memory/text/text.ts";
import { isRecord } from "../../base/parse-json.ts";
import { KNOWN_NAMES_MAX } from "../../protocol/limits.ts";
import { readJson } from "../notes.ts";

export type Registry = {
  names: readonly string[];
  /** Returns the names that the text mentions as whole words, ignoring case. */
  namesIn: (text: string) => string[];
  topicsByWing: Readonly<Record<string, readonly string[]>>;
};

const NONE: Registry = { names: [], namesIn: () => [], topicsByWing: {} };

/** Returns an empty registry if the file is missing or unreadable, as in upstream. */
export function readRegistry(file: string): Registry {
  const parsed = readJson(file);
  if (!isRecord(parsed)) return NONE;
  const { topics_by_wing: byWing, ...categories } = parsed;
  const topicsByWing = Object.fromEntries(
    Object.entries(isRecord(byWing) ? byWing : {}).flatMap(([wing, topics]) => {
      const named = Array.isArray(topics) ? topics.filter((one) => typeof one === "string" && one.trim() !== "") : [];
      return wing.trim() === "" || named.length === 0 ? [] : [[wing.trim(), named as string[]]];
    }),
  );
  const listed = [
    ...Object.values(categories).flatMap(namesOf),
    ...Object.values(isRecord(byWing) ? byWing : {}).flatMap(namesOf),
  ];
  const names = [...new Set(listed)];
  return { names, namesIn: finderOf(names), topicsByWing };
}

function namesOf(category: unknown): string[] {
  const names = Array.isArray(category) ? category : isRecord(category) ? Object.keys(category) : [];
  return names.filter((name) => typeof name === "string" && name !== "") as string[];
}

/** Returns a function that finds the known names in a document. The broker then looks only for these names in the drawers. */
function finderOf(names: readonly string[]): (text: string) => string[] {
  const known = names.map((name) => ({ name, pattern: new RegExp(anyCase(name), "iu") }));
  return (text) =>
    known
      .filter(({ pattern }) => pattern.test(text))
      .slice(0, KNOWN_NAMES_MAX)
      .map(({ name }) => name);
}
