/** Maps `mempalace daemon` to `palace start`, `stop`, `status` and `jobs`, because the broker is the daemon. */
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { defineVerb, options, type Verb } from "../define-verb.ts";
import { handOn } from "./format.ts";

const ACTIONS: Readonly<Record<string, () => Promise<{ verb: Verb }>>> = {
  start: () => import("../verbs/start.ts"),
  stop: () => import("../verbs/stop.ts"),
  status: () => import("../verbs/status.ts"),
  jobs: () => import("../verbs/jobs.ts"),
};

const USAGE = `mempalace daemon start|stop|status|jobs

Starts, stops or shows the broker, which replaces MemPalace's daemon: palace start, palace stop, palace status, palace status jobs.`;

export const verb = defineVerb({
  usage: USAGE,
  options: options("foreground limit="),
  args: [0, 2],
  place: "any",
  run: async ({ values, args: [name], config, out }) => {
    if (name === undefined) {
      out.text(USAGE);
      return 0;
    }
    if (name === "wait")
      throw new PalaceError("ENGINE_UNSUPPORTED", "a command here ends when its work is done", "palace status jobs");
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) throw wrongUsage(`invalid choice: '${name}'`, "mempalace daemon start|stop|status|jobs");
    if (values.foreground === true)
      throw new PalaceError(
        "ENGINE_UNSUPPORTED",
        "--foreground is an option of the broker",
        "mempalace-broker --foreground",
      );
    return handOn((await action()).verb, [], { config, out });
  },
});
