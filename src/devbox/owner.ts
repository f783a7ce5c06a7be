/** Checks which folder owns the stack. All clones have the same project name, so a second clone could change the first one's stack. */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { quoted } from "../base/shell-word.ts";
import { wrongUsage } from "../base/errors.ts";
import type { Note } from "./note.ts";
import { orElse } from "../base/or-else.ts";

export type Claims = Readonly<{
  root: string;
  project: string;
  /** Folders from which compose made the containers, read from the containers' labels. */
  containers: readonly string[];
  note: Note | undefined;
  hasVolumes: boolean;
}>;

/** Returns the owner if it is another folder. A missing folder (a clone that was moved or deleted) owns nothing. */
export function otherOwner({ root, containers, note, hasVolumes }: Claims): string | undefined {
  const here = real(root);
  const shared = (note?.folders ?? []).map(real);
  const made = containers.map(real).filter(isClone);
  if (shared.includes(here)) return undefined;
  // The note does not name this folder if the user ran `docker compose` here directly. This folder then owns the stack.
  if (made.includes(here)) return undefined;
  if (made[0] !== undefined) return made[0];
  return hasVolumes ? shared.find(isClone) : undefined;
}

/** Refuses a stack of another folder. Errors: CONFIG_USAGE; the hint says how to share that stack or make another one. */
export function assertOurs(claims: Claims): void {
  const other = otherOwner(claims);
  if (other === undefined) return;
  const { root, project } = claims;
  throw wrongUsage(
    `the stack ${project}, its memory and its home belong to ${other}; nothing was changed`,
    `to share them with this folder: palace devbox up --share; for a stack of its own: echo COMPOSE_PROJECT_NAME=${project}-2 >> ${quoted(join(root, ".env"))}`,
  );
}

function isClone(folder: string): boolean {
  return existsSync(join(folder, "docker-compose.yml"));
}

export function real(folder: string): string {
  return orElse(() => realpathSync.native(folder), folder);
}
