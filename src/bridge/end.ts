/** Ends a resident, for a set-up that replaces it and for the removal. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Endpoint, dial } from "../transport/endpoint.ts";
import { type BridgePaths, readState } from "./settings.ts";

const END_MAX_MS = 5_000;
const POLL_MS = 20;

/** Returns when its socket is gone. The pid is believed only while somebody answers at the resident's own socket. */
export async function endBridge(paths: BridgePaths): Promise<void> {
  const at: Endpoint = { kind: "unix", path: paths.bridgeSocketPath };
  const isThere = (): Promise<boolean> =>
    dial(at).then(
      (socket) => {
        socket.destroy();
        return true;
      },
      () => false,
    );
  const pid = readState(paths)?.pid;
  if (pid === undefined || !(await isThere())) return;
  process.kill(pid, "SIGTERM");
  for (const deadline = Date.now() + END_MAX_MS; Date.now() < deadline && (await isThere());) await sleep(POLL_MS);
}
