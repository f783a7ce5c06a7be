/** Decides by name which files `palace mine formats` reads. Pure. Source: palace.md 5.6. */
import { extname } from "node:path";
import type { Verdict } from "../doc-miner/document-names.ts";

export const FORMATS_READ: ReadonlySet<string> = new Set([".pdf", ".docx", ".pptx", ".xlsx", ".rtf", ".epub"]);

export function judgeFormat(name: string): Verdict {
  // iCloud stores a small file `.name.pdf.icloud` for a document that is not on this machine.
  const away = /^\.(.+)\.icloud$/i.exec(name)?.[1];
  const kind = extname(away ?? name).toLowerCase();
  if (!FORMATS_READ.has(kind))
    return { kind: "leave", why: kind === "" ? "no extension" : `no office document (${kind})` };
  // Word and Excel create a file `~$…` beside an open document.
  if (name.startsWith("~$")) return { kind: "leave", why: "an editor's mark, no document" };
  if (away !== undefined) return { kind: "refuse", why: "cloud_only: is not on this machine", outcome: "cloud_only" };
  return { kind: "take", why: `an office document (${kind})` };
}
