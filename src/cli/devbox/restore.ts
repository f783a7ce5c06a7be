/** Implements `palace devbox restore`: a backup replaces the stack's memory, and the stack's home if it has one. */
import { resolve } from "node:path";
import type { Counts } from "../../devbox/counts.ts";
import { openCopy, restoreStack } from "../../devbox/restore.ts";
import { devboxStatus } from "../../devbox/status.ts";
import { openStack } from "../../devbox/up.ts";
import { wrongUsage } from "../../base/errors.ts";
import { plural } from "../terminal/output.ts";
import { assertNamed, type DevboxCall, placeOf, watched } from "./call.ts";

export function restore(call: DevboxCall): Promise<number> {
  const { values, rest, config, out } = call;
  const [path] = rest;
  if (path === undefined) throw wrongUsage("palace devbox restore needs a copy", "palace devbox restore FOLDER|FILE");
  return watched(
    call,
    `palace devbox up starts the stack; palace devbox restore ${path} tries it again.`,
    async (watch) => {
      const place = placeOf(call, false);
      const opened = await openStack(place);
      const copy = await openCopy(opened, resolve(path), place.cacheDir);
      const { memory } = await devboxStatus(place, config.paths.stateDir);
      const now = describeReplaced(memory);
      if (now !== undefined) {
        out.notice(
          `The stack ${opened.stack.project} has ${now}. A copy with ${plural(copy.drawers, "drawer")} and ${plural(copy.facts, "fact")} replaces this memory, which is kept beside it.`,
        );
        await assertNamed(opened.stack.project, values.yes, (name) => `palace devbox restore ${path} --yes ${name}`);
      }
      const homeFiles = await restoreStack(opened, copy, place.cacheDir, watch);
      return out.answer({ restored: true, drawers: copy.drawers, facts: copy.facts, homeFiles }, () => {
        const home = copy.folder === undefined ? "" : `; ${plural(homeFiles, "file")} of the home`;
        out.text(
          `The stack has ${plural(copy.drawers, "drawer")} and ${plural(copy.facts, "fact")} of the copy${home}.`,
        );
      });
    },
  );
}

/** Describes what a restore moves aside, for the user to confirm. Undefined for an empty memory, as in a new stack. */
export function describeReplaced(memory: Pick<Counts, "drawers" | "facts"> | null): string | undefined {
  if (memory === null) return "a memory that cannot be counted";
  const { drawers, facts } = memory;
  return drawers + facts === 0 ? undefined : `${plural(drawers, "drawer")} and ${plural(facts, "fact")}`;
}
