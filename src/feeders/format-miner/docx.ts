/** Converts a Word document to Markdown: headings, lists, tables, links, notes. Leaves out tracked deletions, headers and footers. */
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

function readBody(xml: string, body: Body): void {
  const reader = new BodyReader(body);
  const { opened, closed } = reader;
  readXml(xml, {
    open: (name, attributes) => (Object.hasOwn(opened, name) ? opened[name]?.(attributes) : undefined),
    text: (part) => reader.read(part),
    close: (name) => (Object.hasOwn(closed, name) ? closed[name]?.() : undefined),
  });
}

class BodyReader {
  readonly #body: Body;
  // Open paragraphs, outermost first: a paragraph's text box contains paragraphs, as a table's cell may contain tables.
  readonly #paragraphs: Paragraph[] = [];
  readonly #tables: Table[] = [];
  readonly #links: { at: number; href: string }[] = [];
  #isText = false;
  #hidden = 0;
  #note = "";

  constructor(body: Body) {
    this.#body = body;
  }

  read(part: string): void {
    if (this.#isText) this.#say(part);
  }

  readonly opened: Readonly<Record<string, (attributes: Readonly<Record<string, string>>) => void>> = {
    p: () => {
      this.#paragraphs.push({ text: "", level: 0, depth: undefined, note: this.#note });
      this.#note = "";
    },
    pStyle: ({ val = "" }) => this.#change((paragraph) => (paragraph.level = this.#body.levels.get(val) ?? 0)),
    outlineLvl: ({ val = "" }) =>
      this.#change((paragraph) => {
        if (Number(val) < HEADING_MAX) paragraph.level = Number(val) + 1;
      }),
    numPr: () => this.#change((paragraph) => (paragraph.depth ??= 0)),
    ilvl: ({ val = "" }) =>
      this.#change((paragraph) => {
        if (paragraph.depth !== undefined) paragraph.depth = Math.min(Number(val) || 0, 8);
      }),
    t: () => (this.#isText = true),
    tab: () => this.#say("\t"),
    br: () => this.#say("\n"),
    cr: () => this.#say("\n"),
    noBreakHyphen: () => this.#say("-"),
    tbl: () => this.#tables.push({ rows: [] }),
    tr: () => this.#tables.at(-1)?.rows.push([]),
    tc: () => this.#tables.at(-1)?.rows.at(-1)?.push(""),
    hyperlink: (attributes) => {
      const relation = this.#body.relations.get(attributes["r:id"] ?? "");
      const href = relation?.isExternal === true ? relation.target : "";
      this.#links.push({ at: this.#paragraphs.at(-1)?.text.length ?? 0, href });
    },
    footnoteReference: ({ id = "" }) => this.#say(`[^${id}]`),
    endnoteReference: ({ id = "" }) => this.#say(`[^${id}]`),
    footnote: ({ id = "", type }) => (this.#note = type === undefined ? `[^${id}]: ` : ""),
    endnote: ({ id = "", type }) => (this.#note = type === undefined ? `[^${id}]: ` : ""),
    // `Fallback` repeats the content before it for older programs, so it is left out.
    Fallback: () => (this.#hidden += 1),
  };

  readonly closed: Readonly<Record<string, () => void>> = {
    t: () => (this.#isText = false),
    Fallback: () => (this.#hidden -= 1),
    hyperlink: () => this.#endLink(),
    p: () => {
      const paragraph = this.#paragraphs.pop();
      if (paragraph !== undefined && paragraph.text.trim() !== "") this.#put(() => format(paragraph));
    },
    tbl: () => {
      const rows = this.#tables.pop()?.rows ?? [];
      this.#put(() => table(rows));
    },
  };

  #change(change: (paragraph: Paragraph) => void): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph !== undefined) change(paragraph);
  }

  #say(part: string): void {
    if (this.#hidden === 0) this.#change((paragraph) => (paragraph.text += part));
  }

  /** Adds a block to the table cell that is open, else to the document. */
  #put(block: () => string): void {
    if (this.#hidden > 0) return;
    const cells = this.#tables.at(-1)?.rows.at(-1);
    if (cells === undefined) this.#body.text.block(block());
    else if (cells.length > 0) cells[cells.length - 1] += `${block()}\n`;
  }

  #endLink(): void {
    const link = this.#links.pop();
    if (link === undefined || link.href === "") return;
    this.#change((paragraph) => {
      const words = paragraph.text.slice(link.at);
      if (words.trim() !== "") paragraph.text = `${paragraph.text.slice(0, link.at)}[${words}](${link.href})`;
    });
  }
}

function format({ text, level, depth, note }: Paragraph): string {
  const before = level > 0 ? `${"#".repeat(level)} ` : depth === undefined ? "" : `${"  ".repeat(depth)}* `;
  return `${before}${note}${text}`;
}

/** Returns the heading level of each style id, by the style's name: the ids depend on the author's language. */
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
