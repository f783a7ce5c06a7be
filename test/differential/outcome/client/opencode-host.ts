/**
 * Loads Roampal's plugin for opencode and runs its hooks. Reads lines `[hook, input, output]` (JSON), and answers with `{ output, taken }`:
 * the hook's `output`, and the number of turns that the server has accepted. Requests to other machines fail.
 */
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

type Hooks = Record<string, (input: unknown, output: unknown) => Promise<void>>;

const [file = ""] = process.argv.slice(2);
const fetchAnything = globalThis.fetch;
let taken = 0;
globalThis.fetch = async (url, init) => {
  const { hostname, pathname } = new URL(url instanceof Request ? url.url : url);
  if (hostname !== "127.0.0.1") throw new Error(`no network to ${hostname}`);
  const answer = await fetchAnything(url, init);
  if (answer.ok && pathname === "/api/hooks/stop") taken++;
  return answer;
};
const { default: plugin } = (await import(pathToFileURL(file).href)) as {
  default: (given: object) => Promise<Hooks>;
};
const project = { current: () => Promise.resolve({ data: { worktree: process.cwd() } }) };
const app = { agents: () => Promise.resolve([]) };
const hooks = await plugin({ client: { app, project }, directory: process.cwd(), worktree: process.cwd() });
for await (const line of createInterface({ input: process.stdin })) {
  const [name, input, output] = JSON.parse(line) as [string, unknown, unknown];
  await hooks[name]?.(input, output);
  process.stdout.write(`${JSON.stringify({ output, taken })}\n`);
}
// The plugin's timers would keep the process alive.
process.exit(0);
