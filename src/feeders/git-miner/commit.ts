/** Decides which commits are filed, with which text and key. Pure. */
import { hash } from "node:crypto";
import { isBot } from "../setup/repositories.ts";
import type { Commit } from "./parse-log.ts";

export type LeftOut = "merges" | "bots" | "empty";

/** Maximum characters of all file names in one drawer; names beyond it are only counted. */
const NAMES_LENGTH_MAX = 2_000;
const HASH_SHOWN = 12;
const KEY_LENGTH = 20;
const SCHEME = "git:";
/** Matches the subjects of merges that git, GitHub and GitLab write themselves. */
const MERGE_SUBJECT =
  /^Merge (?:(?:remote-tracking )?branch(?:es)?|tags?|commits?|pull request|merge request|[0-9a-f]{7,64})\b/;
/** Matches a line of the list of conflicts that git adds to a merge's message. */
const CONFLICTS = /^#?\s?(?:Conflicts:|\t.*)$/;
/** Matches the subject of a commit that a later rebase combines with an earlier commit. */
const MELTED_SUBJECT = /^(?:fixup|squash)! /;
/** Matches an e-mail address in angle brackets, as in git's trailers. `IN_TEXT` matches one in a sentence, but not `git@host:path`. */
const IN_BRACKETS = / ?<[^<>\s@]{1,64}@[^<>\s@]{1,255}>/g;
const IN_TEXT = /(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?!:\S|[/\w-])/g;

/** Returns the reason why a commit is not filed. */
export function whyLeftOut({ message, parents, author, address }: Commit): LeftOut | undefined {
  if (isBot({ name: author, address })) return "bots";
  const [subject = "", ...rest] = message.trim().split("\n");
  const body = rest.filter((line) => line.trim() !== "");
  if (parents.length > 1 && MERGE_SUBJECT.test(subject) && body.every((line) => CONFLICTS.test(line))) return "merges";
  return subject === "" || (MELTED_SUBJECT.test(subject) && body.length === 0) ? "empty" : undefined;
}

/** Returns a source name that survives a rebase or cherry-pick. It depends on the wing, because a source can be in one wing only. */
export function sourceOf({ message, author, authoredAt }: Commit, wing: string): string {
  const identity = JSON.stringify([wing, author, authoredAt, message.trim()]);
  return `${SCHEME}${hash("sha256", identity, "hex").slice(0, KEY_LENGTH)}`;
}

export function isCommitSource(sourceFile: string): boolean {
  return sourceFile.startsWith(SCHEME);
}

/** Returns the drawer's text: the original message without e-mail addresses, and a line about the commit. */
export function textOfCommit(commit: Commit): string {
  const { message, hash: id, author, authoredAt } = commit;
  const by = author.split("@", 1)[0]?.trim() || "an unknown author";
  const at = authoredAt === "" ? "" : `, ${authoredAt}`;
  const from = `Commit ${id.slice(0, HASH_SHOWN)} by ${oneLine(by)}${at}`;
  return [withoutAddresses(message.trim()), "", from, ...filesOf(commit)].join("\n");
}

function filesOf({ files, fileCount }: Commit): string[] {
  if (fileCount === 0) return [];
  let length = 0;
  const named = files.map(oneLine).filter((name) => (length += name.length) <= NAMES_LENGTH_MAX);
  const more = fileCount - named.length;
  return [`Files: ${[...named, ...(more > 0 ? [`${more} more`] : [])].join(", ")}`];
}

function oneLine(name: string): string {
  return name.replace(/\p{Cc}/gu, "?");
}

function withoutAddresses(text: string): string {
  return text.replace(IN_BRACKETS, "").replace(IN_TEXT, "[e-mail]");
}
