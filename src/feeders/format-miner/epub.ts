/** Converts a book to Markdown: its metadata, then its chapters in reading order. */
import { posix } from "node:path";
import { Archive } from "./archive.ts";
import { addHtml } from "./html.ts";
import { Unconverted } from "./outcome.ts";
import { Text } from "./text.ts";
import { readXml } from "./xml.ts";
import { orElse } from "../../base/or-else.ts";

const ABOUT: Readonly<Record<string, string>> = {
  title: "Title",
  creator: "Authors",
  language: "Language",
  publisher: "Publisher",
  date: "Date",
  description: "Description",
  identifier: "Identifier",
};

export async function readEpub(bytes: Buffer, max: number): Promise<string> {
  const archive = await Archive.open(bytes);
  let opf = "";
  readXml(await archive.need("META-INF/container.xml"), {
    open: (name, attributes) => {
      if (name === "rootfile" && opf === "") opf = attributes["full-path"] ?? "";
    },
  });
  const book = readBook(await archive.need(opf));
  const locked = lockedParts((await archive.read("META-INF/encryption.xml")) ?? "");
  const text = new Text(max);
  const about = Object.entries(ABOUT).flatMap(([name, label]) => {
    const said = book.about.get(name) ?? [];
    return said.length === 0 ? [] : [`**${label}:** ${said.join(", ")}`];
  });
  text.block(about.join("\n"));
  for (const href of book.chapters) {
    const part = posix.join(posix.dirname(opf), decoded(href));
    if (locked.has(part)) throw new Unconverted("encrypted", "is locked by its seller");
    const page = await archive.read(part);
    if (page !== undefined) addHtml(page, text);
  }
  return text.toString();
}

function readBook(xml: string): { about: Map<string, string[]>; chapters: string[] } {
  const about = new Map<string, string[]>();
  const pages = new Map<string, string>();
  const order: string[] = [];
  let field = "";
  let said = "";
  readXml(xml, {
    open: (name, { id, href, idref, "media-type": type = "" }) => {
      if (Object.hasOwn(ABOUT, name)) [field, said] = [name, ""];
      else if (name === "item" && id !== undefined && href !== undefined && /html/.test(type)) pages.set(id, href);
      else if (name === "itemref" && idref !== undefined) order.push(idref);
    },
    text: (part) => (field === "" ? undefined : (said += part)),
    close: (name) => {
      if (name !== field) return;
      if (said.trim() !== "") about.set(field, [...(about.get(field) ?? []), said.trim().replace(/\s+/g, " ")]);
      field = "";
    },
  });
  return { about, chapters: [...new Set(order)].flatMap((id) => pages.get(id) ?? []) };
}

/** Returns the names of the encrypted parts. */
function lockedParts(xml: string): Set<string> {
  const parts = new Set<string>();
  readXml(xml, {
    open: (name, { URI: uri }) => {
      if (name === "CipherReference" && uri !== undefined) parts.add(decoded(uri));
    },
  });
  return parts;
}

function decoded(href: string): string {
  const path = href.split("#")[0] ?? "";
  return orElse(() => decodeURIComponent(path), path);
}
