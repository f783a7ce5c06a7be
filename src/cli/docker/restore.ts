/**
 * Implements `palace backup restore` for a broker in a container on this machine. It streams the backup into a second container with the
 * broker's image, user and volumes, where the verb runs. If this process is killed, the second container sees the end of its input, and
 * either changes nothing or finishes.
 */
import { spawn } from "node:child_process";
import { createReadStream, statSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { decrypted } from "../../memory/backup/secret.ts";
import { STDIN } from "../../memory/backup/verify.ts";
import type { Config } from "../../config/config.ts";
import { isRecord, parseAs, parseJson } from "../../base/parse-json.ts";
import { isErrorCode, PalaceError, unavailable, wrongUsage } from "../../base/errors.ts";
import { withoutInterrupt } from "../feeding/feeding.ts";
import { reportCancelled, watchBytes } from "../report/job.ts";
import { type Coming, isWanted, preview, type Standing } from "../report/restore-preview.ts";
import { watched } from "../report/take-backup.ts";
import type { Output } from "../terminal/output.ts";
import { askDocker, type BrokerBox, untilServed } from "./owner.ts";

export type Asked = {
  config: Config;
  file: string;
  dryRun: boolean;
  yes: boolean;
  withTokens: boolean;
  passphrase: () => Promise<string | undefined>;
};

type Looked = Coming & Standing;
type Restored = Looked & { aside: string[] };
type Inspected = { Image: string; Config: { User: string; Env: string[] } };

const SAID_MAX_CHARS = 4_000;
/** Matches variables that decide which palace the broker opens, and how. */
const HANDED_ON = /^(?:MEMPALACE|XDG)_/;

/** Restores the backup and returns the exit code. Errors: the verb's errors from the container; STORE_UNAVAILABLE if Docker fails. */
export async function restoreInBox(box: BrokerBox, asked: Asked, out: Output): Promise<number> {
  const { config, file, dryRun, yes, withTokens } = asked;
  if (file === STDIN)
    throw wrongUsage("for a broker in a container the backup must be a file", "palace backup restore FILE");
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw wrongUsage(`${file} is not a file`, "name a backup: palace backup restore FILE");
  let secret: Promise<string | undefined> | undefined;
  const once = { ...asked, passphrase: () => (secret ??= asked.passphrase()) };
  const tokens = withTokens ? ["--with-tokens"] : [];
  if (dryRun || !yes) {
    const looked = (await besideBroker(box, once, ["--dry-run"], out)) as Looked | undefined;
    if (looked === undefined) return reportCancelled(out);
    if (dryRun && out.isJson) out.document({ ...looked, file });
    preview(looked, { ...looked, withTokens }, out);
    if (dryRun || !(await isWanted(looked, yes))) return 0;
  }
  // Ctrl-C stops the sending. After everything is sent, the container finishes its work.
  const done = await withoutInterrupt(async () => {
    const restored = await besideBroker(box, once, ["--yes", "--no-start", ...tokens], out);
    if (restored === undefined) return undefined;
    // Needed only if the broker's container has no restart policy. Otherwise Docker has already started the container.
    await askDocker(box, ["start", box.container]);
    await untilServed(config);
    return restored as Restored;
  });
  if (done === undefined) return reportCancelled(out);
  return out.answer({ ...done, file, started: true }, () => {
    if (yes) preview(done, { ...done, withTokens }, out);
    for (const folder of done.aside) out.text(`The old state is kept in the broker's container: ${folder}`);
    out.text("Restored; the broker is running.");
  });
}

/** Returns the verb's JSON document; undefined if the user cancelled the verb. */
async function besideBroker(box: BrokerBox, asked: Asked, how: string[], out: Output): Promise<unknown> {
  const inspected = await askDocker(box, ["inspect", "--format", "{{json .}}", box.container]);
  const { Image, Config } = parseAs(inspected, isInspected) ?? unread(box);
  const named = Config.Env.filter((one) => HANDED_ON.test(one)).map(
    (one) => one.split(/=(.*)/s, 2) as [string, string],
  );
  const args = [
    ...["run", "--rm", "--interactive", "--init", "--network", "none", "--no-healthcheck"],
    ...["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    // Replaces the broker's label, which the image has: another command may be looking for brokers by this label now.
    ...["--label", "org.opencontainers.image.title=palace-devbox restore"],
    ...["--volumes-from", box.container, ...(Config.User === "" ? [] : ["--user", Config.User])],
    // Passes names only: values may be secrets, and every user can read a command line.
    ...named.flatMap(([name]) => ["--env", name]),
    ...[Image, "palace", "backup", "restore", STDIN, "--json", ...how],
  ];
  const env = { ...process.env, ...Object.fromEntries(named) };
  const child = spawn("docker", [...box.options, ...args], { env, stdio: "pipe", detached: true });
  let document = "";
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (document += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-SAID_MAX_CHARS)));
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", (error) => ((said = error.message), resolve(null))).on("close", resolve);
  });
  const fed = await feed(child.stdin, asked, out);
  const code = await ended;
  const answer = parseJson(document);
  if (code === 0 && answer !== undefined) return answer;
  if (fed === "cancelled") return undefined;
  if (fed instanceof Error) throw fed;
  throw asError(answer, said.trim().split("\n").at(-1) || `it ended with ${code}`);
}

/** Sends the backup decrypted, so that the container needs no passphrase. Resolves to the error if the sending ended early. */
async function feed(
  stdin: NodeJS.WritableStream,
  { file, passphrase }: Asked,
  out: Output,
): Promise<"sent" | "cancelled" | Error> {
  const total = statSync(file).size;
  const input = createReadStream(file, { highWaterMark: 1024 * 1024 });
  try {
    const sent = await watchBytes(out, "sending ", async ({ signal, onBytes }) => {
      const whole = watched(input, total, signal, (done) => onBytes(done, total));
      const { pieces } = await decrypted(whole, passphrase);
      await pipeline(Readable.from(pieces, { objectMode: false }), stdin).catch((error: NodeJS.ErrnoException) => {
        // The receiver stopped reading, and reports the reason itself.
        if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
      });
      return "sent" as const;
    });
    return sent ?? "cancelled";
  } catch (error) {
    return error as Error;
  } finally {
    input.destroy();
    stdin.end();
  }
}

function asError(answer: unknown, said: string): PalaceError {
  const { code, message, hint } = ((answer as { error?: unknown } | undefined)?.error ?? {}) as Record<string, unknown>;
  if (isErrorCode(code)) return new PalaceError(code, String(message), String(hint));
  return unavailable(`the restore did not run in a container: ${said}`, "palace devbox recreate");
}

function isInspected(value: unknown): value is Inspected {
  if (!isRecord(value) || typeof value["Image"] !== "string" || !isRecord(value["Config"])) return false;
  const { User, Env } = value["Config"];
  return typeof User === "string" && Array.isArray(Env) && Env.every((one) => typeof one === "string");
}

function unread({ container }: BrokerBox): never {
  const message = `docker inspect did not describe the container ${container}; nothing was changed`;
  throw unavailable(message, "look at: docker inspect " + container);
}
