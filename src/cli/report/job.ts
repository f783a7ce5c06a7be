/** Runs a job in the broker, or other long work: shows progress on stderr, cancels at Ctrl-C. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectClient } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import type { JobReport, JobRequest, JsonObject } from "../../protocol/spec.ts";
import { EXIT_INTERRUPTED, withInterrupt } from "../feeding/feeding.ts";
import { formatBytes, type Output } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";

const POLL_MS = 150;

/** Returns the job's result, or undefined if the user cancelled it. Errors: the job's errors, TRANSPORT_*. */
export async function runJob(config: Config, request: JobRequest, out: Output): Promise<JsonObject | undefined> {
  const client = await connectClient({ config, agent: `palace ${request.kind}`, start: "auto" });
  const progress = new Progress({ silent: out.isJson });
  try {
    const { id } = await client.call("job.start", request);
    const job = await withInterrupt((signal) => follow(client, id, signal, progress), {
      onStop: () => {
        progress.end();
        if (!out.isJson) out.notice("Cancelling; Ctrl-C again stops waiting for it.");
      },
    });
    if (job.state === "cancelled") return undefined;
    if (job.error !== null) throw new PalaceError(job.error.code, job.error.message, job.error.hint);
    return job.result ?? {};
  } finally {
    progress.end();
    client.close();
  }
}

export async function answerJob<R>(
  config: Config,
  request: JobRequest,
  out: Output,
  print: (result: R) => void,
): Promise<number> {
  const result = await runJob(config, request, out);
  return result === undefined ? reportCancelled(out) : out.answer(result, () => print(result as R));
}

type ByteWatch = { signal: AbortSignal; onBytes: (done: number, total: number) => void };

/** Shows how many bytes are done. Returns undefined if the user cancelled the work with Ctrl-C. */
export async function watchBytes<T>(
  out: Output,
  doing: string,
  work: (watch: ByteWatch) => Promise<T>,
): Promise<T | undefined> {
  const progress = new Progress({ silent: out.isJson });
  const onBytes: ByteWatch["onBytes"] = (done, total) =>
    progress.step(done, total, `${doing}${formatBytes(done)} of ${formatBytes(total)}`, undefined);
  try {
    return await withInterrupt((signal) => work({ signal, onBytes }), { onStop: () => progress.end() });
  } catch (error) {
    if (error instanceof PalaceError && error.code === "BROKER_CANCELLED") return undefined;
    throw error;
  } finally {
    progress.end();
  }
}

export function reportCancelled(out: Output): number {
  out.answer({ cancelled: true }, () => out.notice("Cancelled; nothing was changed."));
  return EXIT_INTERRUPTED;
}

async function follow(client: Client, id: string, signal: AbortSignal, progress: Progress): Promise<JobReport> {
  let cancelled = false;
  let lastStep = "";
  for (;;) {
    if (signal.aborted && !cancelled) {
      cancelled = true;
      await client.call("job.cancel", { id });
    }
    const { jobs } = await client.call("job.list", {});
    const job = jobs.find((one) => one.id === id);
    if (job === undefined)
      throw new PalaceError("BROKER_SHUTTING_DOWN", "the broker ended while the job ran", "repeat the command");
    if (job.state !== "running") return job;
    const line = job.step === lastStep ? undefined : `  ${job.step}`;
    lastStep = job.step;
    progress.step(job.done, Math.max(job.total, 1), job.step, line);
    await sleep(POLL_MS);
  }
}
