/** Makes a network namespace with only a loopback. Without root, `within` is empty; with CI=true an error is thrown instead. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { exitOf } from "./palace.ts";

export type Offline = AsyncDisposable & {
  /** Words to put before a command to run it in the namespace. */
  within: readonly string[];
  /** Routes of the namespace as `ip route` prints them; undefined without a namespace. */
  routes(): string | undefined;
};

export async function openOffline(): Promise<Offline> {
  const up = ["--net", "ip", "link", "set", "lo", "up"];
  if (spawnSync("unshare", up).status !== 0 || spawnSync("nsenter", ["--version"]).status !== 0) {
    if (process.env["CI"] === "true") throw new Error("a network namespace needs root, unshare, nsenter and ip");
    console.log("left out: the namespace without a route (it needs root, unshare, nsenter and ip)");
    return { within: [], routes: () => undefined, [Symbol.asyncDispose]: async () => {} };
  }
  const script = "ip link set lo up && echo up && exec sleep infinity";
  const holder: ChildProcess = spawn("unshare", ["--net", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (holder.stdout === null) throw new Error("the namespace has no output");
  await once(holder.stdout, "data");
  const within = ["nsenter", "--target", String(holder.pid), "--net", "--"];
  return {
    within,
    routes: () => execFileSync(within[0] ?? "", [...within.slice(1), "ip", "route"], { encoding: "utf8" }),
    async [Symbol.asyncDispose]() {
      holder.kill("SIGKILL");
      await exitOf(holder);
    },
  };
}
