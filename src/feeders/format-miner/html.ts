/** Converts XHTML and HTML to Markdown with headings, lists, tables, links and code, but without pictures. */
import { Parser } from "htmlparser2";
import { table, type Text } from "./text.ts";

const BLOCKS = new Set(
  "p div section article header footer main aside nav blockquote figure figcaption ul ol li dl dt dd h1 h2 h3 h4 h5 h6 pre table tr hr body".split(
    " ",
  ),
);
const UNSEEN = new Set(["head", "script", "style", "template", "svg"]);
const LIST_DEPTH_MAX = 8;

export function addHtml(html: string, out: Text): void {
  const page = new Page(out);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => page.open(name, attributes),
      ontext: (part) => page.read(part),
      onclosetag: (name) => page.close(name),
    },
    { decodeEntities: true, recognizeSelfClosing: true },
  );
  parser.write(html);
  parser.end();
  page.flush();
}

class Page {
  readonly #out: Text;
  #line = "";
  #before = "";
  #unseen = 0;
  #pre = 0;
  readonly #lists: { isOrdered: boolean; at: number }[] = [];
  readonly #links: { at: number; href: string }[] = [];
  readonly #tables: string[][][] = [];

  constructor(out: Text) {
    this.#out = out;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (UNSEEN.has(name)) this.#unseen += 1;
    if (BLOCKS.has(name) && !(name === "p" && this.#before !== "" && this.#line.trim() === "")) this.flush();
    if (/^h[1-6]$/.test(name)) this.#before = `${"#".repeat(Number(name[1]))} `;
    else if (name === "ul" || name === "ol") this.#lists.push({ isOrdered: name === "ol", at: 0 });
    else if (name === "li") this.#before = marker(this.#lists);
    else if (name === "blockquote") this.#before = "> ";
    else if (name === "pre") this.#pre += 1;
    else if (name === "br") this.#line += this.#pre > 0 ? "\n" : " ";
    else if (name === "table") this.#tables.push([]);
    else if (name === "tr") this.#tables.at(-1)?.push([]);
    else if (name === "td" || name === "th") {
      this.flush();
      this.#tables.at(-1)?.at(-1)?.push("");
    } else if (name === "a") this.#links.push({ at: this.#line.length, href: attributes["href"] ?? "" });
    else if (name === "img" && (attributes["alt"] ?? "").trim() !== "") this.#line += ` ${attributes["alt"] ?? ""} `;
  }

  read(part: string): void {
    if (this.#unseen === 0) this.#line += part;
  }

  close(name: string): void {
    if (UNSEEN.has(name)) this.#unseen -= 1;
    if (name === "a") this.#endLink();
    if (BLOCKS.has(name) || name === "td" || name === "th") this.flush();
    if (name === "pre") this.#pre -= 1;
    else if (name === "ul" || name === "ol") this.#lists.pop();
    else if (name === "table") this.#endTable();
  }

  flush(): void {
    const isPre = this.#pre > 0;
    const text = isPre ? this.#line : this.#line.replace(/[ \t\r\n]+/g, " ").trim();
    const cells = this.#tables.at(-1)?.at(-1);
    if (cells !== undefined && cells.length > 0) cells[cells.length - 1] += text === "" ? "" : `${text}\n`;
    else if (text.trim() !== "")
      this.#out.block(isPre ? `\`\`\`\n${text.replace(/^\n+|\n+$/g, "")}\n\`\`\`` : this.#before + text);
    this.#line = "";
    this.#before = "";
  }

  #endLink(): void {
    const link = this.#links.pop();
    const words = link === undefined ? "" : this.#line.slice(link.at);
    if (link !== undefined && /^https?:/i.test(link.href) && words.trim() !== "")
      this.#line = `${this.#line.slice(0, link.at)}[${words}](${link.href})`;
  }

  #endTable(): void {
    const rows = this.#tables.pop() ?? [];
    const cells = this.#tables.at(-1)?.at(-1);
    if (cells !== undefined && cells.length > 0) cells[cells.length - 1] += rows.flat().join(" ");
    else this.#out.block(table(rows));
  }
}

function marker(lists: { isOrdered: boolean; at: number }[]): string {
  const list = lists.at(-1);
  if (list === undefined) return "* ";
  list.at += 1;
  const indent = "  ".repeat(Math.min(lists.length - 1, LIST_DEPTH_MAX));
  return list.isOrdered ? `${indent}${list.at}. ` : `${indent}* `;
}
