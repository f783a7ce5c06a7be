/** `palace ui` opens the page that shows the memory, in the browser of this machine. */
import { spawn } from "node:child_process";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { within } from "../../base/time-limit.ts";
import { isBridged } from "../../wire/client/bridge.ts";
import { ROLES } from "../../protocol/spec.ts";
import { brokerBox } from "../docker/owner.ts";
import { defineVerb, options, readChoice } from "../define-verb.ts";

/** Time after which a program that opens links counts as successful: some such programs run until the browser ends. */
const OPENED_MS = 1_500;

export const verb = defineVerb({
  usage: `palace ui [--role ROLE] [--no-open]

Opens a page in your browser that shows what the memory holds and did, and lets you search, change and undo. The broker serves it,
offline, at 127.0.0.1 of its own machine. The link works once, within a minute, and has your role: the owner of the memory may do
everything. Over a bridge, and where the broker runs in a container, the command forwards the page until you press Ctrl-C.

  --role ROLE   limit the page: a reader only sees, an agent also adds; admin is the owner's role
  --no-open     only print the link`,
  options: options("role= no-open"),
  forOwner: true,
  run: async ({ values, config, connect, out }) => {
    const role = readChoice(values.role, "role", ROLES, undefined);
    const client = await connect("palace ui");
    const link = await client.call("ui.link", role === undefined ? {} : { role });
    const isPassedOn = brokerBox(config) !== undefined || isBridged(config);
    const isFar = !isPassedOn && config.endpoint !== undefined;
    const page = new URL(link.url);
    if (isPassedOn) page.port = String(await servePage(config.paths.bridgeSocketPath));
    const { href: url, port } = page;
    out.answer({ ...link, url }, url);
    const tunnel = `from the machine with your browser: ssh -N -L ${port}:127.0.0.1:${port} USER@BROKER`;
    if (isFar) out.notice(`the page is at 127.0.0.1:${port} of the broker's machine; to reach it, ${tunnel}`);
    else if (!out.isJson && values["no-open"] !== true && !(await openBrowser(url)))
      out.notice(`no browser could be started; open the link in a browser on this machine, or ${tunnel}`);
    if (!isPassedOn) return 0;
    out.notice("this command forwards the page's requests to the broker; keep it running, Ctrl-C ends it");
    // The server keeps the process alive.
    return new Promise<never>(() => {});
  },
});

/**
 * Returns a local port that forwards requests for the page to the broker's socket. It forwards no other requests: the broker trusts its
 * socket, but every program and website on this machine can reach the port. The page's requests need a session.
 */
async function servePage(socketPath: string): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((from, to) => {
    const { url: path = "", method, headers } = from;
    if (!/^\/ui(?:[/?]|$)/.test(path)) return void to.writeHead(404, { connection: "close" }).end();
    const passed = request({ socketPath, agent, path, method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    passed.on("error", () => to.destroy());
    to.on("close", () => passed.destroy());
    from.pipe(passed);
  });
  server.on("upgrade", (_request, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen({ host: "127.0.0.1", port: 0 }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Returns false if this machine has no program that opens links. */
async function openBrowser(url: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.once("error", () => resolve(false)).once("exit", (code) => resolve(code === 0));
  child.unref();
  return (await within(promise, OPENED_MS)) ?? true;
}
