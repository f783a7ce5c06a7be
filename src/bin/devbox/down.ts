/** `palace devbox down`: the containers go. With --volumes everything goes, and nobody does that by a slip. */
import { createInterface } from "node:readline/promises";
import { lastCopy, takeDown } from "../../devbox/down.ts";
import { hasVolume } from "../../devbox/engine.ts";
import { devboxStatus } from "../../devbox/status.ts";
import { openStack } from "../../devbox/up.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { formatBytes, plural } from "../terminal/output.ts";
import { type DevboxCall, placeOf, watched } from "./call.ts";

export function down(call: DevboxCall): Promise<number> {
  const { values, config, out } = call;
  return watched(call, "palace devbox down goes on.", async (watch) => {
    const place = placeOf(call, false);
    const opened = await openStack(place);
    const { project, volumes } = opened.stack;
    const isErasing = values.volumes === true;
    if (!isErasing && (values.yes !== undefined || values["no-backup"] === true))
      throw new PalaceError("CONFIG_USAGE", "--yes and --no-backup belong to --volumes", "palace devbox down");
    const isThere =
      isErasing && ((await hasVolume(opened.engine, volumes.palace)) || (await hasVolume(opened.engine, volumes.data)));
    let copy: string | null = null;
    if (isThere) {
      const found = await devboxStatus(place, config.paths.stateDir);
      const home = found.volumes.find(({ name }) => name === volumes.data)?.bytes ?? null;
      const memory =
        found.memory === null ? "a memory (nothing runs that could count it)" : plural(found.memory.drawers, "drawer");
      out.notice(
        `This erases ${memory} and the home${home === null ? "" : ` (${formatBytes(home)})`} of the stack ${project}.`,
      );
      await assertNamed(project, values.yes);
      if (values["no-backup"] !== true) {
        copy = await lastCopy(opened, config.paths.cacheDir, watch);
        out.notice(`A copy is kept: ${copy}`);
      }
    }
    await takeDown(opened, isErasing, watch);
    if (out.isJson) out.document({ project, erased: isThere, copy });
    else if (isErasing)
      out.text(
        copy === null
          ? "The stack and its volumes are gone."
          : `The stack and its volumes are gone. To have the memory again: palace backup restore ${copy}/palace.tar`,
      );
    else out.text(out.spelled("The stack has ended; memory and home are kept. Again: palace devbox up"));
    return 0;
  });
}

/** Errors: CONFIG_USAGE for another name, or where nobody can be asked. */
async function assertNamed(project: string, given: string | undefined): Promise<void> {
  const hint = `palace devbox down --volumes --yes ${project}`;
  if (given === undefined && (!process.stdin.isTTY || !process.stderr.isTTY))
    throw new PalaceError("CONFIG_USAGE", "nobody is there to confirm it; nothing was changed", hint);
  const typed = given ?? (await askName(project));
  if (typed !== project)
    throw new PalaceError("CONFIG_USAGE", `that is not the project's name, ${project}; nothing was changed`, hint);
}

async function askName(project: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(`Type the project's name (${project}) to go on: `)).trim();
  } catch {
    return "";
  } finally {
    terminal.close();
  }
}
