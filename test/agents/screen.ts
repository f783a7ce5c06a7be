/** Runs a program in a terminal of a devbox, drawn by a tmux server without settings. A test types keys and reads the screen. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { quoted } from "../../src/base/shell-word.ts";

export type Sh = (script: string) => Promise<{ stdout: string }>;

export type Screen = AsyncDisposable & {
  type: (text: string) => Promise<void>;
  /** Presses keys, given by tmux's names: `Enter`, `C-d`. */
  press: (...keys: string[]) => Promise<void>;
  text: () => Promise<string>;
  shows: (what: RegExp) => Promise<void>;
  /** Waits until the program has ended. Resolves to its exit code. */
  ended: () => Promise<number>;
};

const SIZE = ["-x", "120", "-y", "40"];
const WAIT = { interval: 800 };

export async function openScreen(sh: Sh, command: string): Promise<Screen> {
  const socket = `screen-${randomUUID()}`;
  const tmux = async (...args: string[]): Promise<string> =>
    (await sh(["tmux", "-u", "-L", socket, "-f", "/dev/null", ...args].map(quoted).join(" "))).stdout;
  // TMUX and TERM would tell the program that it already runs in tmux.
  const without = ["env", "-u", "TMUX", "-u", "TMUX_PANE", "TERM=xterm-256color", "COLORTERM=truecolor"];
  const inside = [...without, "sh", "-c", command].map(quoted).join(" ");
  await tmux("start-server", ";", "set", "-g", "remain-on-exit", "on", ";", "new-session", "-d", ...SIZE, inside);
  const screen = (): Promise<string> => tmux("capture-pane", "-p");
  return {
    type: async (text) => void (await tmux("send-keys", "-l", "--", text)),
    press: async (...keys) => void (await tmux("send-keys", ...keys)),
    text: screen,
    shows: (what) => expect.poll(screen, WAIT).toMatch(what),
    ended: async () => {
      const state = (): Promise<string> => tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}");
      await expect.poll(state, WAIT).toMatch(/^1 /);
      return Number((await state()).split(" ")[1]);
    },
    [Symbol.asyncDispose]: async () => void (await tmux("kill-server").catch(() => {})),
  };
}
