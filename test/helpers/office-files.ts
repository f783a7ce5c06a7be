/** Writes small office documents without a library: archives of XML, an RTF, a PDF. The real programs' libraries read them too. */
import { crc32, deflateRawSync } from "node:zlib";

export type Parts = Readonly<Record<string, string | Buffer>>;
export type ZipOptions = {
  /** Bits to set in each entry's flags, for example the bit that says an entry is encrypted. */
  flags?: number;
  /** Unpacked size that the archive falsely claims for each entry. */
  claimed?: number;
};

export function zip(parts: Parts, { flags = 0, claimed }: ZipOptions = {}): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes, { level: 9 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800 | flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(0x5a21_0000, 6);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimed ?? bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const entry = Buffer.concat([Buffer.from("PK\u0003\u0004", "latin1"), common, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\0", "latin1"), common, rest, Buffer.from(name)]));
    files.push(entry);
    offset += entry.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, listed, end]);
}

const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const relations = (list: readonly (readonly [id: string, type: string, target: string])[]): string =>
  `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list
    .map(
      ([id, type, target]) =>
        `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"${target.includes("://") ? ' TargetMode="External"' : ""}/>`,
    )
    .join("")}</Relationships>`;
const types = (overrides: Readonly<Record<string, string>>): string =>
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${Object.entries(
    overrides,
  )
    .map(
      ([part, type]) =>
        `<Override PartName="/${part}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`,
    )
    .join("")}</Types>`;

const WORD = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="${OFFICE}"`;

/** Writes a Word document. `body`: its text as WordprocessingML. `more`: other parts by name. Relation r9 is https://example.org/there. */
export function docx(body: string, more: Parts = {}): Buffer {
  const known = Object.keys(more).map((name) => name.replace("word/", ""));
  return zip({
    "[Content_Types].xml": types({ "word/document.xml": "wordprocessingml.document.main" }),
    "_rels/.rels": relations([["r1", "officeDocument", "word/document.xml"]]),
    "word/_rels/document.xml.rels": relations([
      ["r9", "hyperlink", "https://example.org/there"],
      ...known.map((name, at) => [`m${at}`, name.replace(".xml", ""), name] as const),
    ]),
    "word/document.xml": `<?xml version="1.0"?><w:document ${WORD}><w:body>${body}</w:body></w:document>`,
    ...more,
  });
}

export const wordParagraph = (text: string, properties = ""): string =>
  `<w:p>${properties === "" ? "" : `<w:pPr>${properties}</w:pPr>`}<w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

export const wordPart = (name: string, content: string): string => `<w:${name} ${WORD}>${content}</w:${name}>`;

const SLIDE = `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}"`;
const shape = (text: string, kind: string): string =>
  `<p:sp><p:nvSpPr><p:nvPr>${kind === "" ? "" : `<p:ph type="${kind}"/>`}</p:nvPr></p:nvSpPr><p:txBody>${text
    .split("\n")
    .map((line) => `<a:p><a:r><a:t>${line}</a:t></a:r></a:p>`)
    .join("")}</p:txBody></p:sp>`;

/** Writes slides. Their files are numbered in reverse order, so only the presentation's list has the right order. */
export function pptx(slides: readonly { title: string; text: string; notes?: string }[]): Buffer {
  const file = (at: number): string => `slide${slides.length - at}.xml`;
  const parts: Record<string, string> = {
    "[Content_Types].xml": types({ "ppt/presentation.xml": "presentationml.presentation.main" }),
    "_rels/.rels": relations([["r1", "officeDocument", "ppt/presentation.xml"]]),
    "ppt/_rels/presentation.xml.rels": relations(
      slides.map((_, at) => [`s${at}`, "slide", `slides/${file(at)}`] as const),
    ),
    "ppt/presentation.xml": `<p:presentation ${SLIDE}><p:sldIdLst>${slides
      .map((_, at) => `<p:sldId id="${256 + at}" r:id="s${at}"/>`)
      .join("")}</p:sldIdLst></p:presentation>`,
  };
  for (const [at, { title, text, notes }] of slides.entries()) {
    parts[`ppt/slides/${file(at)}`] =
      `<p:sld ${SLIDE}><p:cSld><p:spTree>${shape(title, "title")}${shape(text, "")}</p:spTree></p:cSld></p:sld>`;
    if (notes === undefined) continue;
    parts[`ppt/slides/_rels/${file(at)}.rels`] = relations([["n", "notesSlide", `../notesSlides/notes${at}.xml`]]);
    parts[`ppt/notesSlides/notes${at}.xml`] =
      `<p:notes ${SLIDE}><p:cSld><p:spTree>${shape("7", "sldNum")}${shape(notes, "body")}</p:spTree></p:cSld></p:notes>`;
  }
  return zip(parts);
}

const SHEET = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="${OFFICE}"`;

/** Writes a workbook. `sheets`: rows of `<c>` elements (SpreadsheetML) by sheet. Cell style 1 is a date, 2 a date in a custom format. */
export function xlsx(sheets: Readonly<Record<string, readonly string[]>>, strings: readonly string[] = []): Buffer {
  const names = Object.keys(sheets);
  return zip({
    "[Content_Types].xml": types({ "xl/workbook.xml": "spreadsheetml.sheet.main" }),
    "_rels/.rels": relations([["r1", "officeDocument", "xl/workbook.xml"]]),
    "xl/_rels/workbook.xml.rels": relations([
      ...names.map((_, at) => [`s${at}`, "worksheet", `worksheets/sheet${at}.xml`] as const),
      ["t", "sharedStrings", "sharedStrings.xml"],
      ["y", "styles", "styles.xml"],
    ]),
    "xl/workbook.xml": `<workbook ${SHEET}><sheets>${names
      .map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="s${at}"/>`)
      .join("")}</sheets></workbook>`,
    "xl/sharedStrings.xml": `<sst ${SHEET}>${strings.map((text) => `<si><t>${text}</t></si>`).join("")}</sst>`,
    "xl/styles.xml": `<styleSheet ${SHEET}><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    ...Object.fromEntries(
      names.map((name, at) => [
        `xl/worksheets/sheet${at}.xml`,
        `<worksheet ${SHEET}><sheetData>${(sheets[name] ?? [])
          .map((cells, row) => `<row r="${row + 1}">${cells}</row>`)
          .join("")}</sheetData></worksheet>`,
      ]),
    ),
  });
}

/** `chapters`: XHTML bodies in reading order. */
export function epub(title: string, chapters: readonly string[], more: Parts = {}): Buffer {
  return zip({
    mimetype: "application/epub+zip",
    "META-INF/container.xml": `<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
    "OEBPS/book.opf": `<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>${title}</dc:title><dc:creator>Ada</dc:creator></metadata><manifest>${chapters
      .map((_, at) => `<item id="c${at}" href="text/chapter%20${at}.xhtml" media-type="application/xhtml+xml"/>`)
      .join("")}</manifest><spine>${chapters.map((_, at) => `<itemref idref="c${at}"/>`).join("")}</spine></package>`,
    ...Object.fromEntries(
      chapters.map((body, at) => [
        `OEBPS/text/chapter ${at}.xhtml`,
        `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>no</title></head><body>${body}</body></html>`,
      ]),
    ),
    ...more,
  });
}

/** Writes one page per list of lines. With `isEncrypted` the PDF claims to be encrypted with an unknown password. */
export function pdf(pages: readonly (readonly string[])[], { isEncrypted = false } = {}): Buffer {
  const objects: string[] = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, at) => `${4 + at * 2} 0 R`).join(" ")}] >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  for (const [at, lines] of pages.entries()) {
    const shown = lines.map((line) => `(${line.replace(/[()\\]/g, "\\$&")}) Tj T*`).join(" ");
    const stream = `BT /F1 12 Tf 14 TL 72 720 Td ${shown} ET`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + at * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    );
  }
  const key = "<28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a>";
  if (isEncrypted) objects.push(`<< /Filter /Standard /V 1 /R 2 /O ${key} /U ${key} /P -4 >>`);
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const offset of offsets) text += `${String(offset).padStart(10, "0")} 00000 n \n`;
  const locked = isEncrypted ? ` /Encrypt ${objects.length} 0 R /ID [<00112233> <00112233>]` : "";
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R${locked} >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text, "latin1");
}

/** Writes a document with a password as Office does. Such a file is not a zip archive. */
export function lockedOffice(): Buffer {
  return Buffer.concat([
    Buffer.from("d0cf11e0a1b11ae1", "hex"),
    Buffer.alloc(504),
    Buffer.from("EncryptedPackage", "utf16le"),
    Buffer.alloc(512),
  ]);
}
