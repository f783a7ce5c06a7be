/** Explains what `palace mine docs` does with one file, and why. */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { quoted } from "../../base/shell-word.ts";
import { unreadable, wrongUsage } from "../../base/errors.ts";
import type { Caller } from "../send.ts";
import { contentDate } from "./content-date.ts";
import { refuseText } from "./no-document.ts";
import { recordsByPath } from "./plan.ts";
import { readProject } from "./project.ts";
import { placeDocument, stemOf } from "./room.ts";
import { DOCS_RULES, type Document, readDocument, surveyProject } from "./survey.ts";
import { findRoot } from "./root.ts";
import { findStage, stagedPath } from "./staging-area.ts";

export type WhyOptions = {
  file: string;
  dir: string | undefined;
  wing: string | undefined;
  cacheDir: string;
  palace: string;
};

export type Explanation = {
  file: string;
  project: string;
  projectFrom: string;
  taken: boolean;
  reason: string;
  wing: string;
  wingFrom: string;
  room?: string;
  roomFrom?: string;
  contentDate?: string;
  contentDateFrom?: string;
  sourceFile?: string;
  palace:
    | "filed"
    | "looked at, and too short to be filed"
    | "changed since it was filed"
    | "not filed"
    | "filed, and removed by the next run"
    | "unknown: no broker is running";
};

/** `caller` is undefined if no broker runs. Errors: FEEDER_SOURCE_UNREADABLE, CONFIG_BAD_VALUE. */
export async function explainFile(options: WhyOptions, caller: Caller | undefined): Promise<Explanation> {
  const file = realFile(options.file);
  const { root, from } = findRoot(file, options);
  const path = relative(root, file).split(sep).join("/");
  if (path.startsWith("../") || path === "")
    throw wrongUsage(`${options.file} is not inside ${root}`, "give the folder that holds it: --dir DIR");
  const wing = options.wing ?? from.wing;
  const project = await readProject(root, wing);
  const stage = findStage({ cacheDir: options.cacheDir, wing: project.wing, root, palace: options.palace });
  const sources = caller === undefined ? undefined : (await caller.call("source.list", { wing: project.wing })).sources;
  const record = sources === undefined ? undefined : recordsByPath(stage, sources).get(path);

  // A project that was filed before keeps its wing.
  const wingFrom = options.wing === undefined && from.wing !== undefined ? "as it was filed before" : project.wingFrom;
  const common = { file, project: root, projectFrom: from.why, wing: project.wing, wingFrom };
  const judged = judgePath(root, path, project.exclude);
  const document = judged.taken ? readTaken(root, path) : judged.reason;
  if (typeof document === "string") {
    const palace =
      sources === undefined
        ? "unknown: no broker is running"
        : record === undefined
          ? "not filed"
          : "filed, and removed by the next run";
    return { ...common, taken: false, reason: document, palace };
  }
  const { room, why } = placeDocument(path, document.text, project.rooms);
  const dated = contentDate(stemOf(basename(path)), document.text, document.mtime * 1000);
  const asFiled = record?.drawers === 0 ? "looked at, and too short to be filed" : "filed";
  const filed = record?.sha256 === document.sha256 ? asFiled : "changed since it was filed";
  return {
    ...common,
    taken: true,
    reason: judged.reason,
    room,
    roomFrom: why,
    contentDate: dated.date,
    contentDateFrom: dated.by,
    sourceFile: record?.sourceFile ?? stagedPath(stage, path),
    palace: sources === undefined ? "unknown: no broker is running" : record === undefined ? "not filed" : filed,
  };
}

function readTaken(root: string, path: string): Document | string {
  const document = readDocument(root, path);
  return typeof document === "string" ? document : (refuseText(path, document.text) ?? document);
}

/** Applies a run's rules to one path. */
function judgePath(root: string, path: string, exclude: readonly string[]): { taken: boolean; reason: string } {
  let reason = "neither a regular file nor a link to one";
  const explain = (why: string): void => void (reason = why);
  const { documents } = surveyProject(root, [], { ...DOCS_RULES, exclude, only: path, explain });
  return { taken: documents.length > 0, reason };
}

/** Resolves links in the path's folders. Does not resolve the file itself, because a run skips a file that is a link. */
function realFile(file: string): string {
  try {
    const real = join(realpathSync(dirname(file)), basename(file));
    if (!lstatSync(real).isDirectory()) return real;
  } catch (error) {
    throw unreadable(`${file} does not exist or cannot be read`, "check the path", error);
  }
  throw wrongUsage(
    `${file} is a folder`,
    `to see what would be filed of it: palace mine docs ${quoted(file)} --dry-run`,
  );
}
