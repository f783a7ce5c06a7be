/** `palace stop` drains the broker, waits until it has ended, and keeps it stopped. */
import { stopBroker } from "../../wire/client/stop.ts";
import { brokerBox, stopBox } from "../docker/owner.ts";
import { exitAtLogin, reportAtLogin, showPlan } from "../at-login/report.ts";
import { apply, planStop } from "../at-login/service.ts";
import { defineVerb, options, usageError } from "../define-verb.ts";

const USAGE = `palace stop
palace stop --at-login [--dry-run]

Lets the broker finish its calls and ends it; returns when the broker has ended. Agents do not start it again until
\`palace start\`. With --palace DIR it stops the broker of that palace. A broker in a container of this machine's engine is
stopped with its container.

  --at-login  also undo \`palace start --at-login\`: remove its file, so that the broker no longer starts at login
  --dry-run   show what --at-login would remove and run, and do nothing`;

export const verb = defineVerb({
  usage: USAGE,
  options: options("at-login dry-run"),
  run: async ({ values, config, out }) => {
    const isDryRun = values["dry-run"] === true;
    if (isDryRun && values["at-login"] !== true) throw usageError(USAGE, "--dry-run needs --at-login");
    const plan = values["at-login"] === true ? planStop(config) : undefined;
    if (isDryRun) return showPlan(plan, out);
    const box = brokerBox(config);
    const { stopped, staysOff } = await (box === undefined ? stopBroker(config) : stopBox(box));
    const until = staysOff ? out.spelled(" It stays off until `palace start`.") : "";
    // `stopBroker` first records that the broker stays stopped, so that no agent starts another broker in between.
    const done = plan && apply(plan, config.env);
    const atLogin = plan && done && reportAtLogin(plan, done, out);
    if (values["at-login"] === true && plan === undefined) out.notice("The broker was not set to start at login.");
    const { endpoint } = config;
    const none =
      endpoint === undefined ? "No broker was running." : `No broker answers at ${endpoint} (MEMPALACE_BROKER).`;
    out.answer({ stopped, ...(atLogin && { atLogin }) }, `${stopped ? "The broker has ended." : none}${until}`);
    return exitAtLogin(done);
  },
});
