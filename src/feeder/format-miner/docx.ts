/**
 * A Word document as Markdown: headings, lists, tables, links, notes. What was deleted with changes tracked is left out, as are
 * headers and footers. Called by convert.ts.
 */
import { Archive } from "./archive.ts";
import { mainPart, type Relation, relationsOf } from "./package-parts.ts";
import { table, Text } from "./text.ts";
import { readXml } from "./xml.ts";

const HEADING_MAX = 6;

export async function readDocx(bytes: Buffer, max: number): Promise<string> {
  const archive = await Archive.open(bytes);
  const main = await mainPart(archive);
  const relations = await relationsOf(archive, main);
  const partOf = (kind: string): string | undefined =>
    [...relations.values()].find(({ type }) => type === kind)?.target;
  const optional = async (kind: string): Promise<string> => (await archive.read(partOf(kind) ?? "")) ?? "";
  const levels = headingLevels(await optional("styles"));
  const text = new Text(max);
  readBody(await archive.need(main), { relations, levels, text });
  for (const kind of ["footnotes", "endnotes"]) readBody(await optional(kind), { relations, levels, text });
  return text.toString();
}

type Body = { relations: ReadonlyMap<string, Relation>; levels: ReadonlyMap<string, number>; text: Text };
type Paragraph = { text: string; level: number; depth: number | undefined; note: string };
type Table = { rows: string[][] };

function readBody(xml: string, { relations, levels, text }: Body): void {
  // Paragraphs lie in paragraphs where a text box is, tables in the cells of tables.
  const paragraphs: Paragraph[] = [];
  const tables: Table[] = [];
  const links: { at: number; href: string }[] = [];
  let isText = false;
  let hidden = 0;
  let note = "";

  const say = (part: string): void => {
    const paragraph = paragraphs.at(-1);
    if (paragraph !== undefined && hidden === 0) paragraph.text += part;
  };
  const put = (block: string): void => {
    const cells = tables.at(-1)?.rows.at(-1);
    if (cells === undefined) text.block(block);
    else if (cells.length > 0) cells[cells.length - 1] += `${block}\n`;
  };
  const opened: Record<string, (attributes: Readonly<Record<string, string>>) => void> = {
    p: () => {
      paragraphs.push({ text: "", level: 0, depth: undefined, note });
      note = "";
    },
    pStyle: ({ val = "" }) => {
      const paragraph = paragraphs.at(-1);
      if (paragraph !== undefined) paragraph.level = levels.get(val) ?? 0;
    },
    outlineLvl: ({ val = "" }) => {
      const paragraph = paragraphs.at(-1);
      if (paragraph !== undefined && Number(val) < HEADING_MAX) paragraph.level = Number(val) + 1;
    },
    numPr: () => {
      const paragraph = paragraphs.at(-1);
      if (paragraph !== undefined) paragraph.depth ??= 0;
    },
    ilvl: ({ val = "" }) => {
      const paragraph = paragraphs.at(-1);
      if (paragraph?.depth !== undefined) paragraph.depth = Math.min(Number(val) || 0, 8);
    },
    t: () => (isText = true),
    tab: () => say("\t"),
    br: () => say("\n"),
    cr: () => say("\n"),
    noBreakHyphen: () => say("-"),
    tbl: () => tables.push({ rows: [] }),
    tr: () => tables.at(-1)?.rows.push([]),
    tc: () => tables.at(-1)?.rows.at(-1)?.push(""),
    hyperlink: (attributes) => {
      const relation = relations.get(attributes["r:id"] ?? "");
      links.push({
        at: paragraphs.at(-1)?.text.length ?? 0,
        href: relation?.isExternal === true ? relation.target : "",
      });
    },
    footnoteReference: ({ id = "" }) => say(`[^${id}]`),
    endnoteReference: ({ id = "" }) => say(`[^${id}]`),
    footnote: ({ id = "", type }) => (note = type === undefined ? `[^${id}]: ` : ""),
    endnote: ({ id = "", type }) => (note = type === undefined ? `[^${id}]: ` : ""),
    // The same again, for programs that do not know what stands before it.
    Fallback: () => (hidden += 1),
  };
  const closed: Record<string, () => void> = {
    t: () => (isText = false),
    Fallback: () => (hidden -= 1),
    hyperlink: () => {
      const link = links.pop();
      const paragraph = paragraphs.at(-1);
      if (link === undefined || link.href === "" || paragraph === undefined) return;
      const words = paragraph.text.slice(link.at);
      if (words.trim() !== "") paragraph.text = `${paragraph.text.slice(0, link.at)}[${words}](${link.href})`;
    },
    p: () => {
      const paragraph = paragraphs.pop();
      if (paragraph !== undefined && hidden === 0 && paragraph.text.trim() !== "") put(format(paragraph));
    },
    tbl: () => {
      const rows = tables.pop()?.rows ?? [];
      if (hidden === 0) put(table(rows));
    },
  };
  readXml(xml, {
    open: (name, attributes) => (Object.hasOwn(opened, name) ? opened[name]?.(attributes) : undefined),
    text: (part) => (isText ? say(part) : undefined),
    close: (name) => (Object.hasOwn(closed, name) ? closed[name]?.() : undefined),
  });
}

function format({ text, level, depth, note }: Paragraph): string {
  const before = level > 0 ? `${"#".repeat(level)} ` : depth === undefined ? "" : `${"  ".repeat(depth)}* `;
  return `${before}${note}${text}`;
}

/** Styles by id that mean a heading: the ids follow the language of whoever made the document, the names do not. */
function headingLevels(xml: string): Map<string, number> {
  const levels = new Map<string, number>();
  let style = "";
  readXml(xml, {
    open: (name, { styleId, val = "" }) => {
      if (name === "style") style = styleId ?? "";
      if (name !== "name" || style === "") return;
      const heading = /^heading ([1-6])$/i.exec(val);
      if (heading !== null) levels.set(style, Number(heading[1]));
      else if (val.toLowerCase() === "title") levels.set(style, 1);
    },
    close: (name) => (name === "style" ? (style = "") : undefined),
  });
  return levels;
}
