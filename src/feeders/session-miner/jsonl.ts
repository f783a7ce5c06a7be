/** Finds and reads sessions that are files with one JSON object per line. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { unreadable } from "../../base/errors.ts";
import { TRANSCRIPT_SIZE_MAX_BYTES } from "../convo-miner/read.ts";
import { type Fields, textOf } from "../fields.ts";
import { jsonLines } from "../lines.ts";
import type { Session, SessionHead, SessionSource } from "./session.ts";

export type FolderOptions = {
  /** Folder with a subfolder of sessions for each project. */
  root: string;
  what: string;
  /** True if subfolders of a project's folder are entered. */
  deep: boolean;
  read: (head: SessionHead, lines: Iterable<Fields>) => Session;
};

export function openFolder({ root, what, deep, read }: FolderOptions): SessionSource {
  const files = new Map<string, string>();
  return {
    place: root,
    list: () => {
      let names: string[];
      try {
        names = readdirSync(root, { recursive: true, encoding: "utf8" });
      } catch (error) {
        throw unreadable(
          `there are no sessions of ${what} in ${root}`,
          "name their folder: palace mine sessions --dir DIR",
          error,
        );
      }
      const found = names
        .filter((name) => name.endsWith(".jsonl") && (deep || name.split("/").length <= 2))
        .sort()
        .flatMap((name) => {
          const path = join(root, name);
          const stat = statSync(path, { throwIfNoEntry: false });
          if (stat?.isFile() !== true || stat.size > TRANSCRIPT_SIZE_MAX_BYTES) return [];
          const id = (name.split("/").at(-1) ?? "").replace(/\.jsonl$/, "");
          return [{ path, head: { id, updatedMs: stat.mtimeMs, version: `${stat.size}:${stat.mtimeMs}` } }];
        })
        // Originals must come before their forks; an original usually changed earlier.
        .sort((one, other) => one.head.updatedMs - other.head.updatedMs);
      // Users copy sessions when they rename a project's folder. Only the copy that changed last counts.
      for (const { path, head } of found) files.set(head.id, path);
      return found.filter(({ path, head }) => files.get(head.id) === path).map(({ head }) => head);
    },
    read: (head) => {
      const path = files.get(head.id);
      if (path === undefined) return undefined;
      try {
        return read(head, jsonLines(path, { followsLinks: true }));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    close: () => {},
  };
}

/** Parses ISO text or milliseconds; NaN for anything else. */
export function timeOf(value: unknown): number {
  return typeof value === "number" ? value : Date.parse(textOf(value));
}
