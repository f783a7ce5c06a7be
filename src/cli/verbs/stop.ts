/** `palace stop` drains the broker, waits until it has ended, and keeps it stopped. */
import { stopBroker } from "../../wire/client/stop.ts";
import type { Config } from "../../config/config.ts";
import { brokerBox, stopBox } from "../docker/owner.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace stop

Lets the broker finish its calls and ends it; returns when the broker has ended. Agents do not start it again until
\`palace start\`. With --palace DIR it stops the broker of that palace. A broker in a container of this machine's engine is
stopped with its container.`,
  run: async ({ config, out }) => {
    const box = brokerBox(config);
    const { stopped, staysOff } = await (box === undefined ? stopBroker(config) : stopBox(box));
    const until = staysOff ? out.spelled(" It stays off until `palace start`.") : "";
    return out.answer({ stopped }, `${stopped ? "The broker has ended." : noneThere(config)}${until}`);
  },
});

function noneThere({ endpoint }: Config): string {
  return endpoint === undefined ? "No broker was running." : `No broker answers at ${endpoint} (MEMPALACE_BROKER).`;
}
