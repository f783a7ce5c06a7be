/**
 * The opencode plugin: it adds the wake-up text to the system prompt and memories to the user's messages, and files idle sessions. The
 * build makes one file without imports, which opencode loads in its embedded Bun. No failure here stops opencode.
 */
import { firstHooks, type Hooks, type Input } from "./generation-1.ts";
import { isSecond, serveSecond } from "./generation-2.ts";

/** Key that marks a process in which `server` is active, because opencode may load this file twice. */
const SERVED = Symbol.for("palace-devbox.opencode-1");
const marks = globalThis as { [SERVED]?: boolean };

export default {
  id: "palace",

  server(input: Input = {}): Promise<Partial<Hooks>> {
    if (isSecond(input)) return Promise.resolve({});
    marks[SERVED] = true;
    return Promise.resolve(firstHooks(input, process.env));
  },

  /** Serves opencode 2. opencode 1.18 also calls this function, before or after `server`; the function then does nothing. */
  setup(context: unknown): Promise<() => Promise<void>> {
    if (!isSecond(context)) return Promise.resolve(() => Promise.resolve());
    return serveSecond(context, process.env, () => marks[SERVED] === true);
  },
};
