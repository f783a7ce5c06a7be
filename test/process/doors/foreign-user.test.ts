import { execFile } from "node:child_process";
import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const reason =
  process.getuid?.() === 0 && process.platform === "linux" ? undefined : "becoming another user needs root on Linux";
if (reason !== undefined) console.log(`left out: foreign user (${reason})`);

const NOBODY = 65_534;

/** Prints the status line of the broker's answer to `GET /health`, or nothing. */
const ASK = `
process.setegid(${NOBODY});
process.seteuid(Number(process.argv[2]));
const socket = require("node:net").connect(process.argv[1]);
socket.on("error", (error) => console.log(error.code === "ECONNRESET" || error.code === "EPIPE" ? "" : error.code));
socket.on("data", (bytes) => { console.log(String(bytes).split("\\r\\n")[0]); socket.destroy(); });
socket.write("GET /health HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");
`;

test.skipIf(reason)("a peer of another uid is refused and logged, and the owner is admitted", async () => {
  await using palace = createTestPalace();
  expect((await palace.run("palace", ["start"])).code).toBe(0);
  const { socketPath } = palace.config.paths;
  const ask = async (uid: number): Promise<string> =>
    (await promisify(execFile)(process.execPath, ["-e", ASK, socketPath, String(uid)])).stdout.trim();

  // With the folder modes that the broker sets, other users cannot even reach the socket.
  expect(await ask(NOBODY)).toBe("EACCES");
  for (let path = dirname(socketPath); path !== dirname(palace.home); path = dirname(path)) chmodSync(path, 0o755);
  chmodSync(socketPath, 0o666);
  expect(await ask(0)).toBe("HTTP/1.1 200 OK");
  expect(await ask(NOBODY)).toBe("");
  expect(palace.log()).toContain("foreign user refused");
  expect(palace.log()).toContain(`"uid":${NOBODY}`);
});
