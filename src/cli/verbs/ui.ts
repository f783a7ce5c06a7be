/** `palace ui`: opens the page that shows the memory, in the browser of this machine. */
import { spawn } from "node:child_process";
import { hasBridge } from "../../wire/client/bridge.ts";
import { PalaceError } from "../../base/errors.ts";
import { ROLES } from "../../protocol/spec.ts";
import { brokerBox } from "../docker/owner.ts";
import { defineVerb, options } from "../define-verb.ts";

const ALONE_MS = 1_500;

export const verb = defineVerb({
  usage: `palace ui [--role ROLE] [--no-open]

Opens a page in your browser that shows what the memory holds and did, and lets you search, change and take back. The broker serves it,
offline, at 127.0.0.1 of its own machine. The link works once, within a minute, and has your role: the owner of the memory may do
everything.

  --role ROLE   give the page less: reader (sees) or agent (adds as well)
  --no-open     only print the link`,
  options: options("role= no-open"),
  forOwner: true,
  run: async ({ values, config, connect, out, env }) => {
    const role = ROLES.find((one) => one === values.role);
    if (values.role !== undefined && role === undefined)
      throw new PalaceError("CONFIG_USAGE", `--role takes ${ROLES.join(", ")}`, "palace ui --help");
    const box = brokerBox(config);
    const isElsewhere = box !== undefined || config.endpoint !== undefined || hasBridge(config);
    const client = await connect("palace ui");
    const link = await client.call("ui.link", role === undefined ? {} : { role });
    const { port } = new URL(link.url);
    const there = `The page is at 127.0.0.1:${port} of the broker's machine, which this browser does not reach by itself.`;
    const way =
      box === undefined
        ? `Type this here, and then open the link:  ssh -N -L ${port}:127.0.0.1:${port} USER@BROKER`
        : `Open the page from inside ${box.container}, or publish a port to its loopback; the link is for 127.0.0.1:${port}`;
    if (out.isJson) return out.document({ ...link, reachable: !isElsewhere });
    out.text(link.url);
    if (isElsewhere) out.notice(`${there}\n${way}`);
    else if (values["no-open"] !== true && !(await openBrowser(link.url, env["PATH"])))
      out.notice(
        "No browser could be started here. Open the link in one of this machine; it works once, within a minute.",
      );
    return 0;
  },
});

/** Returns false when no program opens links here. */
async function openBrowser(url: string, path: string | undefined): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // Some openers stay until the browser ends: one that has not failed by then has opened it.
  const timer = setTimeout(() => resolve(true), ALONE_MS);
  const child = spawn(program, [url], { stdio: "ignore", detached: true, env: { ...process.env, PATH: path } });
  child.once("error", () => resolve(false)).once("exit", (code) => resolve(code === 0));
  child.unref();
  const opened = await promise;
  clearTimeout(timer);
  return opened;
}
