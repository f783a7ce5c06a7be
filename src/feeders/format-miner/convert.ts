/** Converts a document's bytes into text. Loads the code for a format when it is first needed. */
import { extname } from "node:path";
import { Unconverted } from "./outcome.ts";

type Reader = (bytes: Buffer, max: number) => string | Promise<string>;

const READERS: Readonly<Record<string, () => Promise<Reader>>> = {
  ".pdf": async () => (await import("./pdf.ts")).readPdf,
  ".docx": async () => (await import("./docx.ts")).readDocx,
  ".pptx": async () => (await import("./pptx.ts")).readPptx,
  ".xlsx": async () => (await import("./xlsx.ts")).readXlsx,
  ".rtf": async () => (await import("./rtf.ts")).readRtf,
  ".epub": async () => (await import("./epub.ts")).readEpub,
};

/** Returns the text of an office document. `max`: maximum number of characters. Throws only Unconverted. */
export async function convert(name: string, bytes: Buffer, max: number): Promise<string> {
  const load = READERS[extname(name).toLowerCase()];
  if (load === undefined) throw new Unconverted("unrecognized", "has a format that we do not read");
  let read: Reader;
  try {
    read = await load();
  } catch (error) {
    throw new Unconverted("missing_format_deps", `needs a part of this program that is not installed: ${said(error)}`);
  }
  let text: string;
  try {
    text = await read(bytes, max);
  } catch (error) {
    if (error instanceof Unconverted) throw error;
    if ((error as NodeJS.ErrnoException | null)?.code === "ERR_MODULE_NOT_FOUND")
      throw new Unconverted(
        "missing_format_deps",
        `needs a part of this program that is not installed: ${said(error)}`,
      );
    throw new Unconverted("extraction_error", `cannot be converted: ${said(error)}`);
  }
  const clean = text.replaceAll("\0", "").replace(/\r\n?/g, "\n").toWellFormed();
  if (clean.trim() === "") throw new Unconverted("extraction_error", "contains no text; pictures of text are not read");
  return clean;
}

function said(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0]?.slice(0, 200) ?? "";
}
