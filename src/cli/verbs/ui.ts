/** `palace ui`: opens the page that shows the memory, in the browser of this machine. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer, type Server } from "node:net";
import { isBridged } from "../../wire/client/bridge.ts";
import { ROLES } from "../../protocol/spec.ts";
import { brokerBox } from "../docker/owner.ts";
import { defineVerb, options, readChoice } from "../define-verb.ts";

/** A program that opens links and has not failed by then has done it: some stay until the browser ends. */
const OPENED_MS = 1_500;

export const verb = defineVerb({
  usage: `palace ui [--role ROLE] [--no-open]

Opens a page in your browser that shows what the memory holds and did, and lets you search, change and take back. The broker serves it,
offline, at 127.0.0.1 of its own machine. The link works once, within a minute, and has your role: the owner of the memory may do
everything. Over a bridge, and where the broker runs in a container, the command passes the page on until you press Ctrl-C.

  --role ROLE   give the page less: reader (sees) or agent (adds as well)
  --no-open     only print the link`,
  options: options("role= no-open"),
  forOwner: true,
  run: async ({ values, config, connect, out }) => {
    const role = readChoice(values.role, "role", ROLES, undefined);
    const client = await connect("palace ui");
    const link = await client.call("ui.link", role === undefined ? {} : { role });
    const isPassedOn = brokerBox(config) !== undefined || isBridged(config);
    const isFar = !isPassedOn && config.endpoint !== undefined;
    const relay = isPassedOn ? await passOn(config.paths.bridgeSocketPath) : undefined;
    const url = relay === undefined ? link.url : atPort(link.url, relay);
    out.answer({ ...link, url }, url);
    const { port } = new URL(url);
    const way = `from the machine with your browser: ssh -N -L ${port}:127.0.0.1:${port} USER@BROKER`;
    if (isFar) out.notice(`the page is at 127.0.0.1:${port} of the broker's machine; to reach it, ${way}`);
    else if (!out.isJson && values["no-open"] !== true && !(await openBrowser(url)))
      out.notice(`no browser could be started here; open the link in one of this machine, or ${way}`);
    if (relay === undefined) return 0;
    out.notice("the page is passed on to the broker; Ctrl-C ends it");
    await once(relay, "close");
    return 0;
  },
});

/** Listens on this machine's loopback and passes each connection on to the socket at the end of the bridge. */
async function passOn(socketPath: string): Promise<Server> {
  const server = createServer((browser) => {
    const broker = connectSocket(socketPath);
    browser.on("error", () => broker.destroy()).pipe(broker);
    broker.on("error", () => browser.destroy()).pipe(browser);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function atPort(url: string, server: Server): string {
  const moved = new URL(url);
  moved.port = String((server.address() as AddressInfo).port);
  return moved.href;
}

/** Returns false when no program opens links here. */
async function openBrowser(url: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), OPENED_MS);
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.once("error", () => resolve(false)).once("exit", (code) => resolve(code === 0));
  child.unref();
  const opened = await promise;
  clearTimeout(timer);
  return opened;
}
