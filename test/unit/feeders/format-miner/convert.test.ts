/** Tests the text of each kind of office document, and the errors of broken or hostile documents. */
import { expect, test } from "vitest";
import { convert } from "../../../../src/feeders/format-miner/convert.ts";
import { Unconverted } from "../../../../src/feeders/format-miner/outcome.ts";
import {
  docx,
  epub,
  lockedOffice,
  pdf,
  pptx,
  wordParagraph,
  wordPart,
  xlsx,
  zip,
} from "../../../helpers/office-files.ts";

const MAX = 1024 * 1024;

async function outcome(name: string, bytes: Buffer, max = MAX): Promise<string> {
  try {
    return `text: ${await convert(name, bytes, max)}`;
  } catch (error) {
    if (error instanceof Unconverted) return error.outcome;
    throw error;
  }
}

test("a Word document keeps its headings, lists, tables, links and notes, but not deleted text", async () => {
  const body = [
    wordParagraph("Der Plan", '<w:pStyle w:val="berschrift2"/>'),
    wordParagraph("We take the broker &amp; stay with it."),
    wordParagraph("first", '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'),
    wordParagraph("under it", '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>'),
    '<w:p><w:del><w:r><w:delText>never</w:delText></w:r></w:del><w:ins><w:r><w:t>always</w:t></w:r></w:ins><w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
    '<w:p><w:r><w:t xml:space="preserve">see </w:t></w:r><w:hyperlink r:id="r9"><w:r><w:t>there</w:t></w:r></w:hyperlink></w:p>',
    `<w:tbl><w:tr><w:tc>${wordParagraph("who")}</w:tc><w:tc>${wordParagraph("what | why")}</w:tc></w:tr><w:tr><w:tc>${wordParagraph("Ada")}${wordParagraph("Bob")}</w:tc><w:tc>${wordParagraph("code")}</w:tc></w:tr></w:tbl>`,
    '<w:p><w:r><mc:AlternateContent xmlns:mc="m"><mc:Choice><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>twice</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>',
  ].join("");
  const text = await convert(
    "a.DOCX",
    docx(body, {
      "word/styles.xml": wordPart(
        "styles",
        '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>',
      ),
      "word/footnotes.xml": wordPart(
        "footnotes",
        `<w:footnote w:type="separator" w:id="0">${wordParagraph("")}</w:footnote><w:footnote w:id="2">${wordParagraph("a note")}</w:footnote>`,
      ),
    }),
    MAX,
  );
  expect(text.trim().split(/\n\n/)).toEqual([
    "## Der Plan",
    "We take the broker & stay with it.",
    "* first",
    "  * under it",
    "always[^2]",
    "see [there](https://example.org/there)",
    "| who | what \\| why |\n| --- | --- |\n| Ada Bob | code |",
    "once",
    "[^2]: a note",
  ]);
});

test("slides come in the order of the show, with the speaker's notes", async () => {
  const text = await convert(
    "a.pptx",
    pptx([
      { title: "One", text: "line a\nline b", notes: "say hello" },
      { title: "Two", text: "end &lt;here&gt;" },
    ]),
    MAX,
  );
  expect(text.trim()).toBe(
    "<!-- Slide number: 1 -->\n# One\n\nline a\nline b\n\n### Notes:\nsay hello\n\n<!-- Slide number: 2 -->\n# Two\n\nend <here>",
  );
});

test("a sheet becomes a table with dates, and a distant cell does not widen the table", async () => {
  const rows = [
    '<c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>when</t></is></c><c r="C1" t="str"><v>sum</v></c>',
    '<c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>45293</v></c><c r="C2" s="0"><v>45293</v></c>',
    '<c r="B3" s="2"><v>45293.5</v></c><c r="C3" t="b"><v>1</v></c><c r="XFD3"><v>7</v></c>',
  ];
  const text = await convert("a.xlsx", xlsx({ Plan: rows, Empty: [] }, ["who", "Ada"]), MAX);
  expect(text.trim()).toBe(
    [
      "## Plan",
      "| who | when | sum |  |",
      "| --- | --- | --- | --- |",
      "| Ada | 2024-01-02 | 45293 |  |",
      "|  | 2024-01-02 12:00:00 | TRUE | 7 |",
      "",
      "## Empty",
    ].join("\n"),
  );
});

test("a book is read in reading order after its title and authors", async () => {
  const text = await convert(
    "a.epub",
    epub("A &amp; B", [
      "<h1>One</h1><p>It   was\n a <a href='https://example.org/x'>dark</a> night&nbsp;&mdash; really.</p><ul><li>a</li><li><p>b</p></li></ul><script>no()</script>",
      "<h2>Two</h2><ol><li>x</li><li>y</li></ol><pre>  code\n    here</pre><table><tr><th>h</th></tr><tr><td>c</td></tr></table>",
    ]),
    MAX,
  );
  expect(text.trim().split(/\n\n/)).toEqual([
    "**Title:** A & B\n**Authors:** Ada",
    "# One",
    "It was a [dark](https://example.org/x) night\u00a0— really.",
    "* a",
    "* b",
    "## Two",
    "1. x",
    "2. y",
    "```\n  code\n    here\n```",
    "| h |\n| --- |\n| c |",
  ]);
});

test("RTF is read with its code pages, Unicode and tables, without pictures", async () => {
  const rtf = [
    "{\\rtf1\\ansi\\ansicpg1252\\uc1{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset204 Arial Cyr;}}{\\colortbl;\\red0;}",
    "{\\*\\generator Word;}{\\info{\\title no}}\\pard Caf\\'e9 \\ldblquote quoted\\rdblquote\\par",
    "{\\f1\\'cf\\'f0\\'e8\\'e2\\'e5\\'f2}\\par \\u8364?5 {\\uc2\\u955??}x\\line next\\par",
    "{\\pict\\wmetafile8 0123456789}{\\trowd\\cell}a\\cell b\\cell\\row \\{braces\\}}",
    "behind it",
  ].join("\r\n");
  expect(await convert("a.rtf", Buffer.from(rtf, "latin1"), MAX)).toBe(
    "Café “quoted”\nПривет\n€5 λx\nnext\n|a|b|\n{braces}",
  );
});

test("a PDF is read page by page", async () => {
  const text = await convert("a.pdf", pdf([["The plan (a)", "goes on here."], ["Page two."]]), MAX);
  expect(text.trim()).toBe("The plan (a)\ngoes on here.\n\nPage two.");
});

test("the converter gives a reason for a file that it cannot convert", async () => {
  const bomb = zip({
    "_rels/.rels": '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="d.xml"/></Relationships>',
    "d.xml": Buffer.alloc(300 * 1024 * 1024, 0x20),
  });
  const liar = docx(wordParagraph("x".repeat(5000)));
  // The zip's directory claims a smaller size than the entry has.
  const claims = zip({ "_rels/.rels": "x".repeat(5000) }, { claimed: 10 });
  expect(bomb.length).toBeLessThan(1024 * 1024);
  expect({
    locked: await outcome("a.docx", lockedOffice()),
    lockedZip: await outcome("a.docx", zip({ "_rels/.rels": "x" }, { flags: 1 })),
    lockedPdf: await outcome("a.pdf", pdf([["secret"]], { isEncrypted: true })),
    lockedBook: await outcome(
      "a.epub",
      epub("t", ["<p>x</p>"], {
        "META-INF/encryption.xml": '<encryption><CipherReference URI="OEBPS/text/chapter%200.xhtml"/></encryption>',
      }),
    ),
    older: await outcome("a.docx", Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600)])),
    noise: await outcome("a.docx", Buffer.from("no archive at all, only words")),
    noiseBook: await outcome("a.epub", zip({ "x.txt": "x" })),
    noisePdf: await outcome("a.pdf", Buffer.from("no PDF at all, only words")),
    noiseRtf: await outcome("a.rtf", Buffer.from("no RTF at all, only words")),
    scanned: await outcome("a.pdf", pdf([[]])),
    bomb: await outcome("a.docx", bomb),
    long: await outcome("a.docx", liar, 1000),
    claims: await outcome("a.docx", claims),
    wide: await outcome("a.xlsx", xlsx({ S: wideSheet() })),
    other: await outcome("a.odt", Buffer.from("x")),
  }).toEqual({
    ...{ locked: "encrypted", lockedZip: "encrypted", lockedPdf: "encrypted", lockedBook: "encrypted" },
    ...{ older: "unrecognized", noise: "extraction_error", noiseBook: "extraction_error" },
    ...{ noisePdf: "extraction_error", noiseRtf: "extraction_error", scanned: "extraction_error" },
    ...{ bomb: "too_large", long: "too_large", claims: "extraction_error", wide: "too_large", other: "unrecognized" },
  });
});

/** Returns a diagonal of cells: as many columns as rows, and nearly all cells empty. */
function wideSheet(): string[] {
  const name = (at: number): string =>
    at < 26 ? String.fromCharCode(65 + at) : name(Math.floor(at / 26) - 1) + name(at % 26);
  return Array.from({ length: 4000 }, (_, at) => `<c r="${name(at)}${at + 1}"><v>1</v></c>`);
}
