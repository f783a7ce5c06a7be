/** `palace restart`: ends the broker, if one runs, and starts a new one. Agents notice a delay. */
import { clearStop, ensureBroker, stopBroker } from "../../client/start.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  usage: `palace restart

Lets the broker finish and starts a new one, for instance after an update. Agents that are connected come back by themselves.`,
  options: {},
  args: [0, 0],
  run: async ({ config, out }) => {
    // Stopped with the mark, so that no agent starts the old version again in between.
    const { stopped } = await stopBroker(config);
    clearStop(config);
    const { endpoint, health } = await ensureBroker(config);
    if (out.isJson) out.document({ stopped, endpoint, instanceId: health.instanceId, version: health.version });
    else out.text(`The broker is running: ${endpoint}`);
    return 0;
  },
});
