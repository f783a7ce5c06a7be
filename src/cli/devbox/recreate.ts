/** `palace devbox recreate` lists the files that would be lost, then runs the steps of src/devbox/recreate. */
import { assertCertificates } from "../../devbox/compose.ts";
import { revisionOf } from "../../devbox/folder.ts";
import { finishRecreate } from "../../devbox/recreate/finish.ts";
import { preflight, refuse } from "../../devbox/recreate/preflight.ts";
import { beginJob, type Recreated, runJob } from "../../devbox/recreate/recreate.ts";
import { openStack } from "../../devbox/up.ts";
import { armFault } from "../../base/fault-point.ts";
import { plural } from "../terminal/output.ts";
import { type DevboxCall, placeOf, watched } from "./call.ts";

export function recreate(call: DevboxCall): Promise<number> {
  const { values, config, out } = call;
  armFault(config.fault);
  return watched(call, "palace devbox recreate finishes it.", async (watch) => {
    const place = placeOf(call, true);
    const opened = await openStack(place);
    assertCertificates(opened.stack, opened.place);
    const revision = await revisionOf(place.root, place.env);
    const env = { ...place.env, PALACE_REVISION: revision };
    const room = { ...opened, ...watch, cacheDir: place.cacheDir, place: { root: place.root, env } };
    const findings = await preflight(room);
    if (values.force !== true) refuse(findings);
    for (const { what } of findings) out.notice(`continuing because of --force: ${what}`);
    const done = await finishRecreate(room, "recreate");
    room.signal?.throwIfAborted();
    report(done ?? (await runJob(room, await beginJob(room, values["no-build"] !== true), false)), call);
    return 0;
  });
}

function report({ counts, snapshot, changed }: Recreated, { out }: DevboxCall): void {
  if (out.isJson) return void out.document({ recreated: true, counts, snapshot, changed });
  const held = [plural(counts.drawers, "drawer"), plural(counts.facts, "fact"), `${counts.diary} in diaries`].join(
    ", ",
  );
  out.text(`The devbox is recreated. The memory has the same content as before (${held}), and the home has its files.`);
  if (changed.length > 0)
    out.text(`Changed in the home since the recreate was interrupted: ${changed.slice(0, 5).join(", ")}`);
  out.text(`A copy of memory and home, and the old images (tag before-recreate), are kept: ${snapshot}`);
}
