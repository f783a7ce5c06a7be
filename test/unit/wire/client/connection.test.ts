/** A typed error or a system error during a connection attempt counts as an outage. Any other error is a bug. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Link, type Reach } from "../../../../src/wire/client/link.ts";
import { loadConfig } from "../../../../src/config/config.ts";

const ROOT = join(import.meta.dirname, "../../../..");

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "connection-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function open(reach: Partial<Reach>, answers: string[]): Link {
  return new Link({
    config: loadConfig({ HOME: home }),
    agent: "test",
    start: "auto",
    reach: { open: () => Promise.resolve(undefined), ensure: () => Promise.resolve(), ...reach },
    onLine: (line) => void answers.push(String(line)),
  });
}

test.each(["open", "ensure"] as const)("the caller gets the error of a bug in `%s` unchanged", async (where) => {
  const bug = new TypeError("undefined is not a function");
  const link = open({ [where]: () => Promise.reject(bug) }, []);
  await expect(link.connect()).rejects.toBe(bug);
  link.close();
});

test("a system error while the client connects counts as an outage, and the call gets an error", async () => {
  const answers: string[] = [];
  const full = Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM", syscall: "spawn" });
  const link = open({ ensure: () => Promise.reject(full) }, answers);
  const connected = link.connect();
  link.send(1, '{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await expect(connected).rejects.toMatchObject({ code: "TRANSPORT_REFUSED", cause: full });
  expect(answers).toMatchObject([expect.stringContaining("TRANSPORT_REFUSED")]);
  link.close();
});

test("a bug while a link connects ends the process, even if the process only called `send`", () => {
  const program = `
    import { Link } from "./src/wire/client/link.ts";
    import { loadConfig } from "./src/config/config.ts";
    const bug = () => Promise.reject(new TypeError("undefined is not a function"));
    const onLine = (line) => console.log(String(line));
    const config = loadConfig({ HOME: ${JSON.stringify(home)} });
    new Link({ config, agent: "test", start: "auto", offline: async () => undefined, reach: { open: bug, ensure: bug }, onLine }).send(
      1,
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    );
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("TypeError: undefined is not a function");
});
