/** Converts a presentation to Markdown, slide by slide, with titles, texts, tables and the speaker's notes. */
import { Archive } from "./archive.ts";
import { mainPart, relationsOf } from "./package-parts.ts";
import { table, Text } from "./text.ts";
import { readXml } from "./xml.ts";

const SLIDES_MAX = 10_000;

export async function readPptx(bytes: Buffer, max: number): Promise<string> {
  const archive = await Archive.open(bytes);
  const main = await mainPart(archive);
  const relations = await relationsOf(archive, main);
  const slides: string[] = [];
  readXml(await archive.need(main), {
    open: (name, attributes) => {
      const target = name === "sldId" ? relations.get(attributes["r:id"] ?? "")?.target : undefined;
      if (target !== undefined && slides.length < SLIDES_MAX) slides.push(target);
    },
  });
  const text = new Text(max);
  for (const [at, slide] of slides.entries()) {
    text.add(`<!-- Slide number: ${at + 1} -->\n`);
    readShapes((await archive.read(slide)) ?? "", text, false);
    const notes = [...(await relationsOf(archive, slide)).values()].find(({ type }) => type === "notesSlide");
    const said = new Text(max);
    readShapes((await archive.read(notes?.target ?? "")) ?? "", said, true);
    if (said.toString() !== "") text.block(`### Notes:\n${said.toString()}`);
  }
  return text.toString();
}

/** Adds the text of a slide or a notes page. `onlyBody` is for notes pages and leaves out the slide's picture and number. */
function readShapes(xml: string, text: Text, onlyBody: boolean): void {
  let shape: { kind: string; lines: string[] } | undefined;
  let line = "";
  let isText = false;
  let rows: string[][] | undefined;
  readXml(xml, {
    open: (name, { type = "body" }) => {
      if (name === "sp") shape = { kind: "", lines: [] };
      else if (name === "ph" && shape !== undefined) shape.kind = type;
      else if (name === "tbl") rows = [];
      else if (name === "tr") rows?.push([]);
      else if (name === "tc") rows?.at(-1)?.push("");
      else if (name === "p") line = "";
      else if (name === "t") isText = true;
      else if (name === "br") line += "\n";
    },
    text: (part) => (isText ? (line += part) : undefined),
    close: (name) => {
      if (name === "t") isText = false;
      else if (name === "p") {
        const cells = rows?.at(-1);
        if (cells !== undefined && cells.length > 0) cells[cells.length - 1] += `${line}\n`;
        else shape?.lines.push(line);
        line = "";
      } else if (name === "tbl") {
        text.block(table(rows ?? []));
        rows = undefined;
      } else if (name === "sp" && shape !== undefined) {
        const { kind, lines } = shape;
        shape = undefined;
        const isWanted = onlyBody ? kind === "body" : !["sldNum", "dt", "ftr"].includes(kind);
        const isTitle = kind === "title" || kind === "ctrTitle";
        const said = lines.join("\n").trim();
        if (isWanted && said !== "") text.block(isTitle ? `# ${said.replaceAll("\n", " ")}` : said);
      }
    },
  });
}
