/** `palace devbox shell`: into the devbox, as a person or as a script. A terminal is handed to `docker exec`, which knows its size and signals. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readStack } from "../../devbox/compose.ts";
import { boxesOf, openEngine } from "../../devbox/engine.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { type DevboxCall, placeOf } from "./call.ts";

/** A terminal that the box has no description of is taken for the one that all of them understand. */
export const ENTER = `infocmp "$TERM" >/dev/null 2>&1 || TERM=xterm-256color; export TERM; exec tmux -u new-session -A -s main zsh -l`;
const DEVBOXES = ["devbox", "devbox-bridged"];

export async function shell(call: DevboxCall): Promise<number> {
  const { rest, env, out } = call;
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (out.isJson) throw new PalaceError("CONFIG_USAGE", "a shell has no JSON", "palace devbox status --json");
  if (rest.length === 0 && !isTerminal)
    throw new PalaceError(
      "CONFIG_USAGE",
      "there is no terminal here for a shell",
      "palace devbox shell -- CMD runs one command",
    );
  const place = placeOf(call, false);
  const { project } = await readStack(place);
  const boxes = (await boxesOf(await openEngine(env), project)).filter(({ isRunning }) => isRunning);
  const box = DEVBOXES.flatMap((service) => boxes.filter((one) => one.service === service))[0];
  if (box === undefined) throw new PalaceError("CONFIG_USAGE", "the devbox does not run", "palace devbox up");
  const command = rest.length > 0 ? rest : ["sh", "-c", ENTER];
  const terminal = isTerminal ? ["-t", "-e", `TERM=${env["TERM"] ?? "xterm-256color"}`] : [];
  const child = spawn("docker", ["exec", "-i", ...terminal, box.id, ...command], { env: { ...env }, stdio: "inherit" });
  // Ctrl-C is the command's, which has it from the terminal, or by way of docker.
  const pass = (): void => {};
  process.on("SIGINT", pass);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return code ?? 130;
  } finally {
    process.off("SIGINT", pass);
  }
}
