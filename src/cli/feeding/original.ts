/** Finds a drawer's text in its source file on this machine. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, extname, isAbsolute, relative } from "node:path";
import type { Config } from "../../config/config.ts";
import { isBelow, originalsOf, typedPath } from "../../feeders/doc-miner/filed-as.ts";
import { readDocument } from "../../feeders/doc-miner/survey.ts";
import { orElse } from "../../base/or-else.ts";
import { isMarkdown } from "../../memory/text/headings.ts";
import { placeOf } from "./feeding.ts";

/** `path`: as typed from the working directory. `at`: where the drawer begins in `text`. */
export type Original = { path: string; text: string; at: number };

/** Finds the text in its file. Skips a file that has the text several times, because the line number could be wrong. */
export function findOriginal(config: Config, source: string, drawer: string): Original | undefined {
  const files = [...originalsOf(source, placeOf(config)), source].filter(isAbsolute);
  for (const file of files) {
    const text = textOf(file);
    const at = text?.indexOf(drawer) ?? -1;
    if (text !== undefined && at >= 0 && drawer !== "" && text.indexOf(drawer, at + 1) < 0)
      return { path: shownHere(file), text, at };
  }
  return undefined;
}

/** Returns true if the source may have headings. A note has no source, and its text counts as markdown. */
export function hasHeadings(source: string): boolean {
  return extname(source) === "" || isMarkdown(source);
}

function textOf(file: string): string | undefined {
  return orElse(() => {
    const real = realpathSync(file);
    const document = readDocument(dirname(real), basename(real));
    return typeof document === "string" ? undefined : document.text;
  }, undefined);
}

function shownHere(file: string): string {
  const here = relative(process.cwd(), file);
  return isBelow(here) ? here : typedPath(file, homedir());
}
