/** XHTML and HTML as Markdown, as far as text goes: headings, lists, tables, links, code. Used by epub.ts. */
import { Parser } from "htmlparser2";
import { table, type Text } from "./text.ts";

const BLOCKS = new Set(
  "p div section article header footer main aside nav blockquote figure figcaption ul ol li dl dt dd h1 h2 h3 h4 h5 h6 pre table tr hr body".split(
    " ",
  ),
);
const UNSEEN = new Set(["head", "script", "style", "template", "svg"]);
const LIST_DEPTH_MAX = 8;

/** Adds the blocks of a page to `out`. */
export function addHtml(html: string, out: Text): void {
  let line = "";
  let before = "";
  let unseen = 0;
  let pre = 0;
  const lists: { isOrdered: boolean; at: number }[] = [];
  const links: { at: number; href: string }[] = [];
  const tables: string[][][] = [];

  const flush = (): void => {
    const text = pre > 0 ? line : line.replace(/[ \t\r\n]+/g, " ").trim();
    const cells = tables.at(-1)?.at(-1);
    if (cells !== undefined && cells.length > 0) cells[cells.length - 1] += text === "" ? "" : `${text}\n`;
    else if (text.trim() !== "")
      out.block(pre > 0 ? `\`\`\`\n${text.replace(/^\n+|\n+$/g, "")}\n\`\`\`` : before + text);
    line = "";
    before = "";
  };
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        if (UNSEEN.has(name)) unseen += 1;
        if (BLOCKS.has(name) && !(name === "p" && before !== "" && line.trim() === "")) flush();
        if (/^h[1-6]$/.test(name)) before = `${"#".repeat(Number(name[1]))} `;
        else if (name === "ul" || name === "ol") lists.push({ isOrdered: name === "ol", at: 0 });
        else if (name === "li") before = marker(lists);
        else if (name === "blockquote") before = "> ";
        else if (name === "pre") pre += 1;
        else if (name === "br") line += pre > 0 ? "\n" : " ";
        else if (name === "table") tables.push([]);
        else if (name === "tr") tables.at(-1)?.push([]);
        else if (name === "td" || name === "th") {
          flush();
          tables.at(-1)?.at(-1)?.push("");
        } else if (name === "a") links.push({ at: line.length, href: attributes["href"] ?? "" });
        else if (name === "img" && (attributes["alt"] ?? "").trim() !== "") line += ` ${attributes["alt"] ?? ""} `;
      },
      ontext: (part) => (unseen === 0 ? (line += part) : undefined),
      onclosetag: (name) => {
        if (UNSEEN.has(name)) unseen -= 1;
        if (name === "a") {
          const link = links.pop();
          const words = link === undefined ? "" : line.slice(link.at);
          if (link !== undefined && /^https?:/i.test(link.href) && words.trim() !== "")
            line = `${line.slice(0, link.at)}[${words}](${link.href})`;
        }
        if (BLOCKS.has(name) || name === "td" || name === "th") flush();
        if (name === "pre") pre -= 1;
        else if (name === "ul" || name === "ol") lists.pop();
        else if (name === "table") {
          const rows = tables.pop() ?? [];
          const cells = tables.at(-1)?.at(-1);
          if (cells !== undefined && cells.length > 0) cells[cells.length - 1] += rows.flat().join(" ");
          else out.block(table(rows));
        }
      },
    },
    { decodeEntities: true, recognizeSelfClosing: true },
  );
  parser.write(html);
  parser.end();
  flush();
}

function marker(lists: { isOrdered: boolean; at: number }[]): string {
  const list = lists.at(-1);
  if (list === undefined) return "* ";
  list.at += 1;
  const indent = "  ".repeat(Math.min(lists.length - 1, LIST_DEPTH_MAX));
  return list.isOrdered ? `${indent}${list.at}. ` : `${indent}* `;
}
