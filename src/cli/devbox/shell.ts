/** `palace devbox shell` opens a shell for a person or a script through `docker exec`, which gets the terminal's size and signals. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readStack } from "../../devbox/compose.ts";
import { boxesOf, openEngine } from "../../devbox/engine.ts";
import { wrongUsage } from "../../base/errors.ts";
import { type DevboxCall, placeOf } from "./call.ts";

/**
 * Shell text that enters tmux session `main`. If another terminal shows this session, makes a session in the same group with its own
 * window. A terminal type that the container does not know counts as xterm.
 */
export const ENTER = `
infocmp "$TERM" >/dev/null 2>&1 || TERM=xterm-256color
export TERM
[ -z "\${DEVBOX_SHELL-}" ] || echo $$ > "/tmp/shell-$DEVBOX_SHELL"
case \${COLORTERM-} in truecolor | 24bit) colour='-T RGB' ;; *) colour= ;; esac
[ -n "$(tmux list-clients -t =main 2>/dev/null)" ] || exec tmux -u $colour new-session -A -s main zsh -l
session=$(tmux new-session -d -t =main -P -F '#{session_name}') &&
  tmux new-window -t "=$session:" "zsh -l; tmux kill-session -t '=$session'" &&
  exec tmux -u $colour attach-session -t "=$session" ';' set-option destroy-unattached on`;
/** Returns shell text that detaches the terminal `id`, as if the terminal were closed. */
const leave = (id: string): string => `kill -HUP "$(cat /tmp/shell-${id})"; rm -f /tmp/shell-${id}`;
const EXIT_HUNG_UP = 129;
const DEVBOXES = ["devbox", "devbox-bridged"];

export async function shell(call: DevboxCall): Promise<number> {
  const { rest, env, out } = call;
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (out.isJson) throw wrongUsage("a shell has no --json", "palace devbox status --json");
  if (rest.length === 0 && !isTerminal)
    throw wrongUsage("a shell needs a terminal", "palace devbox shell -- CMD runs one command");
  const place = placeOf(call, false);
  const { project } = await readStack(place);
  const boxes = (await boxesOf(await openEngine(env), project)).filter(({ isRunning }) => isRunning);
  const box = DEVBOXES.flatMap((service) => boxes.filter((one) => one.service === service))[0];
  if (box === undefined) throw wrongUsage("the devbox does not run", "palace devbox up");
  const command = rest.length > 0 ? rest : ["sh", "-c", ENTER];
  const id = randomUUID();
  const variables = { TERM: env["TERM"] ?? "xterm-256color", COLORTERM: env["COLORTERM"] ?? "", DEVBOX_SHELL: id };
  const options = Object.entries(variables).flatMap(([name, value]) =>
    value === "" ? [] : ["-e", `${name}=${value}`],
  );
  const terminal = isTerminal ? ["-t", ...options] : [];
  const child = spawn("docker", ["exec", "-i", ...terminal, box.id, ...command], { env: { ...env }, stdio: "inherit" });
  // Ignores Ctrl-C here: the command itself gets it, from the terminal or through docker.
  const pass = (): void => {};
  let isHungUp = false;
  const hangUp = (): void => {
    isHungUp = true;
    child.kill();
  };
  process.on("SIGINT", pass).on("SIGHUP", hangUp);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    // When the terminal closes, Docker lets the command continue, so tmux would assume that this terminal is still open.
    if (isHungUp && isTerminal)
      await once(spawn("docker", ["exec", box.id, "sh", "-c", leave(id)], { env: { ...env } }), "close");
    return isHungUp ? EXIT_HUNG_UP : (code ?? 130);
  } finally {
    process.off("SIGINT", pass).off("SIGHUP", hangUp);
  }
}
