/** Converts a workbook to Markdown, with a table for each sheet. Numbers with a date format become dates. */
import { Archive } from "./archive.ts";
import { Unconverted } from "./outcome.ts";
import { mainPart, relationsOf } from "./package-parts.ts";
import { CELLS_MAX, table, Text } from "./text.ts";
import { readXml } from "./xml.ts";

const DAY_MS = 86_400_000;
/** Returns true for the id of a built-in date format, which workbooks do not list (ECMA-376, numFmts). */
const isDateNumber = (id: number): boolean => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);

export async function readXlsx(bytes: Buffer, max: number): Promise<string> {
  const archive = await Archive.open(bytes);
  const main = await mainPart(archive);
  const relations = await relationsOf(archive, main);
  const partOf = (kind: string): string => [...relations.values()].find(({ type }) => type === kind)?.target ?? "";
  const sheets: { name: string; part: string }[] = [];
  let epochMs = Date.UTC(1899, 11, 30);
  readXml(await archive.need(main), {
    open: (element, { name = "", date1904, ...rest }) => {
      if (element === "workbookPr" && (date1904 === "1" || date1904 === "true")) epochMs = Date.UTC(1904, 0, 1);
      const part = element === "sheet" ? relations.get(rest["r:id"] ?? "")?.target : undefined;
      if (part !== undefined) sheets.push({ name, part });
    },
  });
  const strings = sharedStrings((await archive.read(partOf("sharedStrings"))) ?? "");
  const dates = dateStyles((await archive.read(partOf("styles"))) ?? "");
  const text = new Text(max);
  for (const { name, part } of sheets) {
    const xml = await archive.read(part);
    if (xml === undefined) continue;
    const rows = readSheet(xml, { strings, dates, epochMs }, new Text(max));
    text.block(`## ${name}\n${table(rows)}`);
  }
  return text.toString();
}

type Book = { strings: readonly string[]; dates: ReadonlySet<number>; epochMs: number };

/** Returns a sheet's cells without empty rows and columns, so that one distant cell does not make the table huge. */
function readSheet(xml: string, book: Book, bound: Text): string[][] {
  const rows: Map<number, string>[] = [];
  let cell = { type: "", style: -1, column: 0 };
  let last = -1;
  let value = "";
  let isValue = false;
  readXml(xml, {
    open: (name, { r = "", t = "n", s = "-1" }) => {
      if (name === "row") {
        rows.push(new Map());
        last = -1;
      } else if (name === "c") {
        cell = { type: t, style: Number(s), column: columnOf(r) ?? last + 1 };
        last = cell.column;
        value = "";
      } else if (name === "v" || name === "t") isValue = true;
    },
    text: (part) => (isValue ? (value += part) : undefined),
    close: (name) => {
      if (name === "v" || name === "t") isValue = false;
      if (name !== "c" || value === "") return;
      const shown = show(value, cell, book);
      // Counts every cell's text, because a million cells may share one long string.
      bound.add(shown);
      rows.at(-1)?.set(cell.column, shown);
    },
  });
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))].sort((a, b) => a - b);
  const filled = rows.filter((row) => row.size > 0);
  if (columns.length * filled.length > CELLS_MAX) throw new Unconverted("too_large", "holds too large a sheet");
  return filled.map((row) => columns.map((column) => row.get(column) ?? ""));
}

function show(
  value: string,
  { type, style }: { type: string; style: number },
  { strings, dates, epochMs }: Book,
): string {
  if (type === "s") return strings[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  if (type !== "n" || !dates.has(style) || !Number.isFinite(Number(value))) return value;
  const date = new Date(epochMs + Math.round(Number(value) * DAY_MS));
  if (Number.isNaN(date.getTime())) return value;
  const iso = date.toISOString();
  if (Number(value) < 1) return iso.slice(11, 19);
  return iso.endsWith("T00:00:00.000Z") ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", " ");
}

/** Returns the number of a cell's column, from 0 on: 54 for `BC12`. */
function columnOf(reference: string): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** Returns the strings that cells refer to by number, without phonetic readings. */
function sharedStrings(xml: string): string[] {
  const strings: string[] = [];
  let isText = false;
  let phonetic = 0;
  let text = "";
  readXml(xml, {
    open: (name) => {
      if (name === "si") text = "";
      else if (name === "rPh") phonetic += 1;
      else if (name === "t") isText = phonetic === 0;
    },
    text: (part) => (isText ? (text += part) : undefined),
    close: (name) => {
      if (name === "t") isText = false;
      else if (name === "rPh") phonetic -= 1;
      else if (name === "si") strings.push(text);
    },
  });
  return strings;
}

/** Returns the numbers of the cell styles with a date or time format. */
function dateStyles(xml: string): Set<number> {
  const written = new Set<number>();
  const styles = new Set<number>();
  let isCellStyle = false;
  let count = 0;
  readXml(xml, {
    open: (name, { numFmtId = "", formatCode = "" }) => {
      const id = Number(numFmtId);
      // Removes quoted, escaped and bracketed characters, which do not make a date format.
      if (name === "numFmt" && /[ymdhs]/i.test(formatCode.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ""))) written.add(id);
      if (name === "cellXfs") isCellStyle = true;
      if (name !== "xf" || !isCellStyle) return;
      if (isDateNumber(id) || written.has(id)) styles.add(count);
      count += 1;
    },
    close: (name) => (name === "cellXfs" ? (isCellStyle = false) : undefined),
  });
  return styles;
}
