/**
 * Parses XML into events with local names, whatever prefix a file gives a namespace. Entities that a document defines are
 * not expanded, and nothing outside of it is read. Used by the formats beside this file.
 */
import { Parser } from "htmlparser2";

/** Names without prefix, of elements and of attributes; of two attributes of one local name the one with a prefix counts. */
export type XmlEvents = {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
};

export function readXml(xml: string, { open, text, close }: XmlEvents): void {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => open?.(local(name), bare(attributes)),
      ontext: (part) => text?.(part),
      onclosetag: (name) => close?.(local(name)),
    },
    { xmlMode: true },
  );
  parser.write(xml);
  parser.end();
}

/** `r:id` and `id` of one element differ, so the relationship stays available as `r:id`. */
function bare(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (/relationships$/.test(name)) continue;
    const short = local(name);
    if (short !== name && short === "id") found["r:id"] = value;
    if (!Object.hasOwn(found, short) || short !== name) found[short] = value;
  }
  return found;
}

function local(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
