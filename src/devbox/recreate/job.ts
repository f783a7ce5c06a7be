/** State file of a recreate. It is written before each step, so that the next run after a kill knows which step may have run. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { faultPoint } from "../../base/fault-point.ts";
import { isRecord } from "../../base/parse-json.ts";
import { damaged } from "../../base/errors.ts";
import type { Service } from "../compose.ts";
import type { Counts } from "../counts.ts";
import { writeState } from "../note.ts";

/** Steps in their order. Only a failure leads to `roll-back`. */
export const STEPS = ["keep-images", "build", "drain", "snapshot", "switch", "verify", "roll-back"] as const;
export type Step = (typeof STEPS)[number];

export type OldBox = Readonly<{ id: string; service: Service; imageId: string }>;

export type Job = Readonly<{
  schema: 1;
  /** Time of the recreate; also the name of its snapshot. */
  id: string;
  step: Step;
  isBuilding: boolean;
  old: readonly OldBox[];
  /** Ids of the stopped containers of `devbox-bridged`, which are started again at the end. Older state files have none. */
  bridged?: readonly string[];
  /** Container id → time at which the container stopped. If the container has run again since, it may have written. */
  endedAt: Readonly<Record<string, string>>;
  /** Counts of the memory after all writers were stopped; null before that. */
  before: Counts | null;
  /** Reason for a rollback; null if there is none. */
  why: string | null;
  /** True if a rollback restores the home, too. False once a user may have worked in the new stack. */
  restoresHome: boolean;
}>;

const FILE = "recreate.json";

/** Returns true if the old containers may be gone. Before that, a recreate can be given up. */
export function isSwitched(job: Job): boolean {
  return STEPS.indexOf(job.step) >= STEPS.indexOf("switch");
}

/** Returns undefined if no recreate is unfinished. Errors: STORE_CORRUPT for a file that we did not write. */
export function readJob(state: string): Job | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(state, FILE), "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (isRecord(value) && value["schema"] === 1 && STEPS.some((step) => step === value["step"])) return value as Job;
  throw damaged(
    `${join(state, FILE)} is not a valid record of a recreate; nothing was changed`,
    "look at palace devbox status; to abandon that recreate, move the file away",
  );
}

export function writeJob(state: string, job: Job): Job {
  writeState(state, FILE, job);
  return job;
}

export function enter(state: string, job: Job, step: Step): Job {
  const entered = writeJob(state, { ...job, step });
  faultPoint(`recreate.${step}`);
  return entered;
}

export function endJob(state: string): void {
  faultPoint("recreate.end");
  rmSync(join(state, FILE), { force: true });
}

export function newJob(old: readonly OldBox[], isBuilding: boolean): Job {
  return {
    ...{ schema: 1, id: new Date().toISOString().replaceAll(/[:.]/g, "-"), step: "keep-images", isBuilding, old },
    ...{ endedAt: {}, before: null, why: null, restoresHome: false },
  };
}
