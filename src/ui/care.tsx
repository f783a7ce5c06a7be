/** Shows the broker itself: its health, jobs with progress, backups, doors and settings. */
import type { JobReport, Role, StatusReport } from "../protocol/spec.ts";
import { useEffect } from "preact/hooks";
import { Backups } from "./backups.tsx";
import { call, CallError, type News } from "./client.ts";
import { Health } from "./home.tsx";
import { Tokens, Waiting } from "./machine.tsx";
import { Action, Failure, Heading, type Loaded, useLoaded } from "./parts.tsx";
import { bytes, plain, plural, time } from "./words.ts";

/** Interval, ms, at which the page asks for a running job's progress. Without a job it asks at OTHERS_MS for jobs of other clients. */
const PROGRESS_MS = 700;
const OTHERS_MS = 5_000;

type Props = { news: News | undefined; role: Role; changed: number };

export function Care({ news, role, changed }: Props) {
  const jobs = useLoaded(() => call("job.list", {}), []);
  const status = useLoaded(() => call("palace.status", {}), []);
  const isRunning = jobs.value?.jobs.some(({ state }) => state === "running") ?? false;
  // Asks again only after the answer, because under load an answer takes longer than the interval.
  useEffect(() => {
    const timer = setTimeout(jobs.again, isRunning ? PROGRESS_MS : OTHERS_MS);
    return () => clearTimeout(timer);
  }, [jobs.value, jobs.error]);
  return (
    <>
      <h1>Care</h1>
      <div class="columns">
        <div>
          <JobList jobs={jobs} isOwner={role === "admin"} />
          {role === "admin" ? (
            <>
              <Backups jobs={jobs.value?.jobs ?? []} onStarted={jobs.again} isBusy={isRunning} />
              <Waiting changed={changed} />
              <Tokens />
            </>
          ) : null}
        </div>
        <div>
          <Health news={news} />
          <Failure error={status.error} />
          {status.value === undefined ? null : <Broker status={status.value} />}
        </div>
      </div>
    </>
  );
}

function JobList({ jobs, isOwner }: { jobs: Loaded<{ jobs: JobReport[] }>; isOwner: boolean }) {
  const all = jobs.value?.jobs.toReversed() ?? [];
  return (
    <section>
      <Heading aside="since the broker started">Long work</Heading>
      <Failure error={jobs.error} />
      {jobs.value !== undefined && all.length === 0 ? <p class="quiet">None runs, and none has run.</p> : null}
      <ul class="rows jobs">
        {all.map((job) => (
          <li key={job.id} data-job={job.state}>
            <div>
              <strong>{job.kind}</strong> {job.state}
              <small>{[time(job.startedAtMs), progressOf(job)].filter((part) => part !== "").join(" · ")}</small>
              {job.state === "running" && job.total > 0 ? (
                <progress value={job.done} max={job.total} aria-label={job.kind} />
              ) : null}
              {job.error === null || job.state === "cancelled" ? null : (
                <Failure error={new CallError(job.error.message, job.error.code, job.error.hint)} />
              )}
            </div>
            {job.state !== "running" || !isOwner ? null : (
              <Action run={() => call("job.cancel", { id: job.id }).then(jobs.again)}>Cancel</Action>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function progressOf({ state, step, done, total, result }: JobReport): string {
  if (state === "running") return total > 0 ? `${plain(step)} ${done} of ${total}` : plain(step);
  const file = result?.["file"];
  const size = result?.["bytes"];
  if (typeof file !== "string") return "";
  return typeof size === "number" ? `${plain(file)}, ${bytes(size)}` : plain(file);
}

function Broker({ status }: { status: StatusReport }) {
  const { version, home, doors, settings = [], startedAtMs, closets, graph, topology } = status;
  const rows: [name: string, value: string][] = [
    ["Version", version],
    ["Started", time(startedAtMs)],
    ["Memory", home],
    ["Place", topology],
    ...doors.map((door): [string, string] =>
      door.kind === "unix" ? ["Socket of the owner", door.path] : ["TCP, by token", `${door.host}:${door.port}`],
    ),
    ["SSH bridges", "connect as agents, through a separate socket"],
    ["This page", location.host],
    ["Facts", plural(graph.facts, "fact")],
    ["Closets", plural(closets.count, "closet")],
    ...settings.map(({ key, value }): [string, string] => [key, value]),
  ];
  return (
    <section>
      <Heading>Broker</Heading>
      <dl class="facts">
        {rows.map(([name, value]) => (
          <div key={`${name} ${value}`}>
            <dt>{name}</dt>
            <dd>{plain(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
