/**
 * What is done to a whole palace: export it, build it anew, look through it. A composition root: the jobs meet the stores here.
 * Called by the route table (methods.ts) through the open palace.
 */
import { isAbsolute } from "node:path";
import type { Config } from "../config/config.ts";
import { PalaceError } from "../protocol/errors.ts";
import type { JobRequest, JsonObject } from "../protocol/spec.ts";
import type { RebuildMethods, RebuildThreadData } from "../store/rebuild/rebuild-thread.ts";
import { startThread, type Thread, threadFile } from "../store/thread.ts";
import type { JobProgress, JobWork } from "./jobs.ts";

export type MaintenanceParts = {
  config: Config;
  /** Waits until the vectors that can be made are there; false: some are still missing. */
  embedded: () => Promise<void>;
  /** Why the palace cannot be worked on now: others' rows are still being taken over. */
  unsettled: () => PalaceError | undefined;
};

export type Maintenance = { begin(request: JobRequest): JobWork };

export function createMaintenance(parts: MaintenanceParts): Maintenance {
  return {
    begin(request) {
      switch (request.kind) {
        case "export":
          return onThread(parts, async (thread, say) => {
            say("waiting for vectors");
            const unsettled = parts.unsettled();
            if (unsettled !== undefined) throw unsettled;
            await parts.embedded();
            const { paths } = parts.config;
            const { ledgerFile, palaceDir, home, tag } = paths;
            const { dir, chroma, partial = false } = request;
            return thread.call("exportPalace", { ledgerFile, palaceDir, home, tag, dir, chroma, partial });
          });
      }
    },
  };
}

/** Work on a thread that lives for it. */
function onThread(
  { config }: MaintenanceParts,
  work: (thread: Thread<RebuildMethods>, say: (step: string) => void) => Promise<object>,
): JobWork {
  let thread: Thread<RebuildMethods> | undefined;
  let step: string | undefined = "starting";
  let isCancelled = false;
  return {
    async run() {
      const data: RebuildThreadData = { fault: config.fault };
      thread = await startThread<RebuildMethods>(threadFile(import.meta.url, "../store/rebuild/rebuild-thread"), data);
      try {
        if (isCancelled) await thread.call("cancel");
        return (await work(thread, (now) => (step = now))) as JsonObject;
      } finally {
        await thread.close();
        thread = undefined;
      }
    },
    async progress(): Promise<JobProgress> {
      const there = await thread?.call("progress");
      return there === undefined || there.total === 0 ? { step: step ?? "starting", done: 0, total: 0 } : there;
    },
    cancel() {
      isCancelled = true;
      void thread?.call("cancel").catch(() => {});
    },
  };
}

/** Errors: PROTOCOL_BAD_PARAMS. */
export function readJobRequest(params: Record<string, unknown>): JobRequest {
  const refuse = (why: string): PalaceError =>
    new PalaceError("PROTOCOL_BAD_PARAMS", why, "the parameters are in protocol/spec.ts");
  const { kind, dir, chroma, partial } = params;
  if (kind === "export") {
    if (typeof dir !== "string" || !isAbsolute(dir)) throw refuse("dir must be an absolute path");
    if (chroma !== undefined && chroma !== null && typeof chroma !== "string") throw refuse("chroma must be a path");
    return { kind, dir, partial: partial === true, ...(chroma !== undefined && { chroma }) };
  }
  throw refuse("there is no job of that kind");
}
