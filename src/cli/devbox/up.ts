/** `palace devbox up` starts the stack, and connects this machine's agents to its memory unless they already have another memory. */
import { brokerContainer, upStack } from "../../devbox/up.ts";
import { armFault } from "../../base/fault-point.ts";
import { joinStack } from "../docker/one-memory.ts";
import { alignRows } from "../terminal/output.ts";
import { type DevboxCall, placeOf, watched } from "./call.ts";

export function up(call: DevboxCall): Promise<number> {
  const { values, config, env, out } = call;
  armFault(config.fault);
  return watched(call, "palace devbox up continues.", async (watch) => {
    const opened = await upStack({ ...values, ...placeOf(call, true), ...watch, cwd: process.cwd() });
    const host = await joinStack(config, await brokerContainer(opened), env, opened.before);
    const { project, services } = opened.stack;
    if (out.isJson)
      out.document({ project, folder: opened.place.root, services: [...services], ...(host && { host }) });
    else {
      const next = [
        ["palace devbox shell", "a shell with pi, opencode, claude and the palace commands"],
        ["palace devbox status", "the state of the stack and the size of its memory"],
        ["palace devbox up --workspace DIR", "makes your project the folder /workspace"],
        ...(host?.state === "apart"
          ? []
          : [["palace install all", "wire the agents of this machine to the same memory"]]),
        ["palace devbox down", "ends the stack; keeps memory and home"],
      ];
      out.text(`The devbox is up: ${services.join(", ")} (project ${project}).
Next:
${alignRows(next.map(([command = "", does = ""]) => [`  ${out.spelled(command)}`, does])).join("\n")}`);
    }
    if (host?.state === "apart") out.hint(`note: ${host.why}; ${host.hint}`);
    return 0;
  });
}
