/** `palace status jobs` lists the broker's long jobs, running and done. */
import { wrongUsage } from "../../base/errors.ts";
import { formatDuration, printable } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace status jobs [cancel ID]

Lists the jobs of the running broker (export, repair, migrate) with their progress; cancel ends one at its next safe point.`,
  args: [0, 2],
  forOwner: true,
  run: async ({ args: [what, id], connect, out }) => {
    if (what !== undefined && (what !== "cancel" || id === undefined))
      throw wrongUsage("palace status jobs takes no argument, or cancel ID", "palace status jobs --help");
    const client = await connect("palace jobs");
    if (id !== undefined) await client.call("job.cancel", { id });
    const { jobs } = await client.call("job.list", {});
    const none = "No job is running, and none has run since the broker started.";
    const rows = jobs.map(({ id: one, kind, state, step, done, total, startedAtMs, endedAtMs, error }) => {
      const progress = state === "running" ? `${step}${total === 0 ? "" : ` ${done}/${total}`}` : "";
      const lasted = formatDuration((endedAtMs ?? Date.now()) - startedAtMs);
      return [one, kind, state, lasted, error === null ? progress : printable(error.message)];
    });
    return out.answer({ jobs }, rows.length === 0 ? none : rows);
  },
});
