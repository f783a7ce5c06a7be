/** Extracts the text of a PDF, page by page, with PDF.js. Pictures of text are not read. */
import { Unconverted } from "./outcome.ts";
import { Text } from "./text.ts";

/** Minimum distance of two lines, in line heights, that begins a new paragraph. */
const PARAGRAPH_GAP = 1.8;

export async function readPdf(bytes: Buffer, max: number): Promise<string> {
  const { getDocumentProxy } = await import("unpdf");
  const text = new Text(max);
  const pdf = await getDocumentProxy(new Uint8Array(bytes), {
    ...{ verbosity: 0, isEvalSupported: false, useSystemFonts: false, disableFontFace: true },
    ...{ stopAtErrors: false, enableXfa: false, useWorkerFetch: false },
  }).catch((error: unknown) => {
    const isLocked = (error as Error | null)?.name === "PasswordException";
    throw isLocked ? new Unconverted("encrypted", "is protected by a password", { cause: error }) : error;
  });
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    text.block(textOf(items as Item[]));
    page.cleanup();
  }
  return text.toString();
}

/** Piece of text. `transform[5]` is its height above the bottom of the page. */
type Item = { str?: string; hasEOL?: boolean; height?: number; transform?: readonly number[] };

function textOf(items: readonly Item[]): string {
  let text = "";
  let above: number | undefined;
  let height = 0;
  for (const { str = "", hasEOL = false, height: own = 0, transform } of items) {
    const at = transform?.[5];
    if (str.trim() !== "" && at !== undefined) {
      if (above !== undefined && text.endsWith("\n") && Math.abs(above - at) > PARAGRAPH_GAP * Math.max(height, own))
        text += "\n";
      above = at;
      height = own;
    }
    text += hasEOL ? `${str}\n` : str;
  }
  return text;
}
