/** Shows backups: their age, whether they are complete, and how a restore would change the memory. For the owner. */
import type { BackupsReport, JobReport } from "../protocol/spec.ts";
import { useState } from "preact/hooks";
import { call, CallError } from "./client.ts";
import { announce } from "./done.tsx";
import { Action, Failure, Heading, useLoaded } from "./parts.tsx";
import { age, bytes, count, plain, plural, time } from "./words.ts";

type Backup = BackupsReport["backups"][number];

const SHOWN_MAX = 10;

type Props = { jobs: readonly JobReport[]; onStarted: () => void; isBusy: boolean };

export function Backups({ jobs, onStarted, isBusy }: Props) {
  const done = jobs.filter(({ state }) => state === "done").length;
  const list = useLoaded(() => call("backup.list", {}), [], done);
  const [shown, setShown] = useState(SHOWN_MAX);
  const { backups, schedule } = list.value ?? { backups: [], schedule: null };
  return (
    <section>
      <Heading aside="one file with everything">Backups</Heading>
      <New onStarted={onStarted} isBusy={isBusy} />
      <Failure error={list.error} />
      {list.value === undefined ? null : <Planned schedule={schedule} />}
      <ul class="rows" aria-label="Backups">
        {backups.slice(0, shown).map((backup) => (
          <Row key={`${backup.file} ${backup.madeAtMs}`} {...{ backup, jobs, onStarted, isBusy }} />
        ))}
      </ul>
      {backups.length <= shown ? null : (
        <div class="buttons">
          <button type="button" onClick={() => setShown(shown + SHOWN_MAX)}>
            Show older backups
          </button>
        </div>
      )}
    </section>
  );
}

function Planned({ schedule }: Pick<BackupsReport, "schedule">) {
  if (schedule === null)
    return (
      <p class="quiet">
        None are made by themselves. Type <code>palace config set backup-dir /folder</code>
      </p>
    );
  const { dir, hours, keep, failure } = schedule;
  return (
    <>
      <p class="quiet">
        One every {plural(hours, "hour")} in {plain(dir)}; the newest {count(keep)} stay.
      </p>
      <Failure error={failure === null ? undefined : new CallError(failure.message, "", failure.hint)} />
    </>
  );
}

function Row({ backup, jobs, onStarted, isBusy }: Props & { backup: Backup }) {
  const { file, madeAtMs, bytes: size, encrypted, scheduled, isThere } = backup;
  const facts = [
    age(madeAtMs),
    time(madeAtMs),
    bytes(size),
    encrypted ? "encrypted" : "",
    scheduled ? "scheduled" : "",
  ];
  const verified =
    file === null ? undefined : jobs.findLast((job) => isVerification(job, file) && job.startedAtMs >= madeAtMs);
  const verify = async () => {
    await call("job.start", { kind: "verify", file: file ?? "" });
    onStarted();
  };
  return (
    <li class="backup" data-backup={file}>
      <div>
        <span class="words">{file === null ? "through a pipe" : plain(file)}</span>
        <small>{facts.filter((fact) => fact !== "").join(" · ")}</small>
        {file === null || isThere ? null : <small>The file is not there now.</small>}
        {verified === undefined ? null : <Preview job={verified} />}
      </div>
      {isThere && !isBusy ? <Action run={verify}>Verify</Action> : null}
    </li>
  );
}

function isVerification({ kind, state, result }: JobReport, file: string): boolean {
  return kind === "verify" && state === "done" && result?.["file"] === file;
}

function Preview({ job: { result, endedAtMs } }: { job: JobReport }) {
  const then = numbersOf(result?.["counts"]);
  const now = numbersOf(result?.["before"]);
  return (
    <p data-number="restore">
      Whole, at {time(endedAtMs ?? undefined)}. A restore would bring {plural(then.drawers, "drawer row")} and{" "}
      {plural(then.facts, "fact")}; the memory had {plural(now.drawers, "drawer row")} and {plural(now.facts, "fact")},
      which would be moved aside. To restore: <code>palace backup restore {plain(String(result?.["file"]))}</code>
    </p>
  );
}

function numbersOf(value: unknown): { drawers: number; facts: number } {
  const { drawers = 0, facts = 0 } = (value ?? {}) as { drawers?: number; facts?: number };
  return { drawers, facts };
}

function New({ onStarted, isBusy }: Omit<Props, "jobs">) {
  const [file, setFile] = useState("");
  const start = async () => {
    if (!file.startsWith("/"))
      throw new CallError("A backup needs a whole path on the broker's machine: /folder/file.tar");
    await call("job.start", { kind: "backup", file, replace: false, goesTo: null, encrypted: false });
    announce({ says: "The backup has begun." });
    onStarted();
  };
  return (
    <>
      <label>
        File on the broker's machine
        <input value={file} placeholder="/folder/palace.tar" onInput={(event) => setFile(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        {isBusy ? <span class="quiet">One job at a time.</span> : <Action run={start}>Back up</Action>}
      </div>
    </>
  );
}
