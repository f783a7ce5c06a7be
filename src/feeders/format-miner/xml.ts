/** Parses XML into events; names have no namespace prefix. Does not expand entities that a document defines, and reads no file. */
import { Parser } from "htmlparser2";

/** Handlers for events. If two attributes differ only in their prefixes, `attributes` has the one with a prefix. */
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

/** Removes prefixes. An `id` with a prefix is also added as `r:id`, because an element may have both `r:id` and `id`. */
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
