/** Tests a Docker daemon that disappears during work: a real HTTP server on a socket sends a part of an answer and hangs up. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watched } from "../../../src/cli/devbox/call.ts";
import { connectEngine, hasVolume } from "../../../src/devbox/engine.ts";
import { composeFailed } from "../../../src/devbox/failure.ts";
import { runOneOff } from "../../../src/devbox/one-off.ts";

let folder: string;
let server: ReturnType<typeof createServer>;
const socket = (): string => join(folder, "engine.sock");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "engine-"));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const json =
  (value: object, code = 200): Answer =>
  (_, response) =>
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(value));

/** Answers like a Docker daemon. The last word of the path selects the answer; an answer in `odd` replaces the usual answer. */
async function serve(odd: Record<string, Answer>): Promise<void> {
  const usual: Record<string, Answer> = {
    create: json({ Id: "abc" }, 201),
    attach: (_, response) => void response.writeHead(200).flushHeaders(),
    start: (_, response) => response.writeHead(204).end(),
    wait: json({ StatusCode: 0 }),
    abc: (_, response) => response.writeHead(204).end(),
  };
  server = createServer((request, response) => {
    const word = /\/([a-z]+)(?:\?|$)/.exec(request.url ?? "")?.[1] ?? "";
    (odd[word] ?? usual[word])?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(socket(), resolve));
}

/** Sends the head and a part of an answer, and then hangs up. */
const cutOff: Answer = (_, response) => {
  response.writeHead(200, { "content-type": "application/json" }).write("{");
  setTimeout(() => {
    server.close();
    server.closeAllConnections();
  }, 50);
};
const hangUp: Answer = (request) => {
  server.close();
  request.socket.destroy();
};

async function look(): Promise<unknown> {
  const engine = await connectEngine(`unix://${socket()}`);
  const program = { imageId: "i", command: ["true"], host: {}, stdout: new PassThrough().resume() };
  return runOneOff(engine, "p", program);
}

test.each([
  ["before its answer", { create: hangUp }],
  ["while it starts a container", { start: hangUp }],
  ["in the middle of its answer", { wait: cutOff }],
  ["before the first request", undefined],
])("if Docker ends %s, the hint says how to finish the work", async (_, odd) => {
  await serve(odd ?? {});
  if (odd === undefined) await new Promise((resolve) => server.close(resolve));
  const out = { notice: () => {}, spelled: (text: string) => text } as never;
  const work = watched({ out } as never, "palace devbox recreate finishes what was begun.", async () => {
    await look();
    return 0;
  });
  await expect(work).rejects.toMatchObject({
    code: "TRANSPORT_CLOSED",
    message: "the Docker engine does not answer any more",
    hint: "start Docker again (docker info says what is wrong); palace devbox recreate finishes what was begun.",
  });
});

test("a query with an incomplete answer fails with the same error as a lost connection to Docker", async () => {
  await serve({ volume: cutOff });
  const work = watched({ out: {} } as never, "next", async () => {
    await hasVolume(await connectEngine(`unix://${socket()}`), "volume");
    return 0;
  });
  await expect(work).rejects.toMatchObject({ code: "TRANSPORT_CLOSED" });
});

test("a refusal by Docker does not count as a lost connection", async () => {
  await serve({ create: json({ message: "no such image" }, 404) });
  const work = watched({ out: {} } as never, "next", async () => {
    await look();
    return 0;
  });
  await expect(work).rejects.toMatchObject({ statusCode: 404 });
});

test("after compose lost the connection to Docker the hint says to start Docker", async () => {
  await serve({});
  const said = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
  expect(composeFailed("the stack did not start", said, { root: "/stack", env: {} }).hint).toContain("start Docker");
});

/** Returns a frame of a program's stdout, as Docker sends it. */
function frame(size: number): Buffer {
  const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(size, 4);
  return Buffer.concat([head, Buffer.alloc(size)]);
}

/** Serves a program that writes `frames` MiB and then ends. */
async function servePrinter(frames: number, removed: () => void): Promise<void> {
  const ended = Promise.withResolvers<void>();
  await serve({
    attach: (_, response) => {
      response.writeHead(200).flushHeaders();
      const more = (left: number): void => {
        if (left === 0) return void response.end(() => ended.resolve());
        if (response.write(frame(1024 ** 2))) setImmediate(more, left - 1);
        else response.once("drain", () => more(left - 1));
      };
      more(frames);
    },
    wait: (_, response) => void ended.promise.then(() => json({ StatusCode: 0 })(_, response)),
    abc: (_, response) => {
      removed();
      response.writeHead(204).end();
    },
  });
}

test("with a slow disk less than 16 MiB of a program's output wait in memory", async () => {
  await servePrinter(64, () => {});
  const engine = await connectEngine(`unix://${socket()}`);
  let most = 0;
  let written = 0;
  const stdout = new Writable({
    write(piece: Buffer, _, done) {
      most = Math.max(most, stdout.writableLength);
      written += piece.length;
      // The disk is slow only for the first piece.
      if (written === piece.length) setTimeout(done, 1_500);
      else setImmediate(done);
    },
  });
  const finishing = finished(stdout);
  const { code } = await runOneOff(engine, "p", { imageId: "i", command: ["tar"], host: {}, stdout });
  await finishing;
  expect([code, written]).toEqual([0, 64 * 1024 ** 2]);
  expect(most).toBeLessThan(16 * 1024 ** 2);
});

test("on a full disk the container of the program is removed before the error is reported", async () => {
  let isRemoved = false;
  await servePrinter(Number.POSITIVE_INFINITY, () => (isRemoved = true));
  const engine = await connectEngine(`unix://${socket()}`);
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const stdout = new Writable({ write: (_piece, _encoding, done) => done(full) });
  const work = runOneOff(engine, "p", { imageId: "i", command: ["tar"], host: {}, stdout });
  await expect(work).rejects.toBe(full);
  expect(isRemoved).toBe(true);
});
