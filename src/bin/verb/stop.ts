/** `palace stop`: drains the broker, waits until it is gone, and keeps it so. */
import { stopBroker } from "../../client/stop.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  usage: `palace stop

Lets the broker finish what it has taken and ends it; returns when it is gone. Agents do not start it again until
\`palace start\`. With --palace DIR it stops the broker of that palace.`,
  options: {},
  args: [0, 0],
  run: async ({ config, out }) => {
    const { stopped, staysOff } = await stopBroker(config);
    const until = staysOff ? " It stays off until `palace start`." : "";
    if (out.isJson) out.document({ stopped });
    else out.text(`${stopped ? "The broker has ended." : "No broker was running."}${until}`);
    return 0;
  },
});
