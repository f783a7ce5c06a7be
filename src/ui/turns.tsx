/** Shows turns: the memories that each agent saw, their outcomes, and the share that helped, by week. */
import { useState } from "preact/hooks";
import type { HelpedWeek, ShownMemory, TurnPage } from "../protocol/outcome.ts";
import { call } from "./client.ts";
import { Curve } from "./chart.tsx";
import { OwnWord } from "./outcomes.tsx";
import { Action, Failure, Heading, href, LongList, useLoaded, useSlowly } from "./parts.tsx";
import { plain, plural, time, title } from "./words.ts";

type Turn = TurnPage["turns"][number];

const PAGE = 20;
const ROW_HEIGHT = 64;
/** Interval at which the page loads turns again while others write, ms. */
const REFRESH_MS = 10_000;

type Props = { conversation: string | undefined; isOwner: boolean; changed: number };

export function Turns({ conversation, isOwner, changed: now }: Props) {
  const changed = useSlowly(now, REFRESH_MS);
  if (conversation !== undefined)
    return <Talk key={conversation} conversation={conversation} isOwner={isOwner} changed={changed} />;
  return (
    <>
      <h1>Turns</h1>
      <Helped changed={changed} />
      <section>
        <Heading aside="the newest conversation first">What agents were shown</Heading>
        <LongList
          label="Turns"
          rowHeight={ROW_HEIGHT}
          inputs={[changed]}
          load={async (offset, limit) => {
            const { turns, total } = await call("turn.list", { offset, limit });
            return { rows: turns, total };
          }}
          row={(turn) => <TurnLine turn={turn} />}
        />
      </section>
    </>
  );
}

function Helped({ changed }: { changed: number }) {
  const stats = useLoaded(() => call("outcome.stats", {}), [], changed);
  const weeks = stats.value?.helped ?? [];
  if (stats.error !== undefined) return <Failure error={stats.error} />;
  if (weeks.length === 0) return stats.value === undefined ? null : <None />;
  const times = [...new Set(weeks.map(({ week }) => week))];
  const agents = [...new Set(weeks.map(({ agent }) => agent))];
  const series = agents.map((agent) => ({
    name: plain(agent),
    values: times.map((week) => shareOf(weeks.find((one) => one.week === week && one.agent === agent))),
  }));
  const sum = (part: "shown" | "worked" | "partial" | "failed") => weeks.reduce((all, one) => all + one[part], 0);
  return (
    <section>
      <Heading aside="worked counts whole, partial half">Share of shown memories that helped</Heading>
      <p data-number="helped">
        {plural(sum("shown"), "memory", "memories")} shown: {sum("worked")} worked, {sum("partial")} partial,{" "}
        {sum("failed")} failed.
      </p>
      <Curve label="Share that helped" times={times} series={series} top={1} say={percent} />
    </section>
  );
}

function None() {
  return (
    <p class="empty">
      No agent was shown a memory yet. Type <code>palace install all</code>, or let an agent work.
    </p>
  );
}

function shareOf(week: HelpedWeek | undefined): number | undefined {
  return week === undefined ? undefined : (week.worked + week.partial / 2) / week.shown;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function TurnLine({ turn: { conversation, turn, agent, at, memories } }: { turn: Turn }) {
  return (
    <a class="line" href={href("turns", { conversation })}>
      <span class="one">
        {plain(agent)}, turn {turn}: {inShort(memories)}
      </span>
      <small class="one">
        {time(at)} · {plain(conversation)}
      </small>
    </a>
  );
}

function inShort(memories: readonly ShownMemory[]): string {
  const outcomes = memories.map(({ drawer, outcomes: told }) =>
    drawer === null ? "removed" : (told.at(-1)?.outcome ?? "no outcome"),
  );
  const kinds = [...new Set(outcomes)].map((kind) => `${outcomes.filter((one) => one === kind).length} ${kind}`);
  return `${plural(memories.length, "memory", "memories")} shown, ${kinds.join(", ")}`;
}

function Talk({ conversation, isOwner, changed }: Props & { conversation: string }) {
  const [pages, setPages] = useState(1);
  const load = async () => {
    const ask = (page: number) => call("turn.list", { conversation, offset: page * PAGE, limit: PAGE });
    const all = await Promise.all(Array.from({ length: pages }, (_, page) => ask(page)));
    return { turns: all.flatMap(({ turns }) => turns), total: all[0]?.total ?? 0 };
  };
  const talk = useLoaded(load, [conversation, pages], changed);
  const { turns, total } = talk.value ?? { turns: [], total: 0 };
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <a href={href("turns")}>All turns</a>
      </nav>
      <h1>Turns of {plain(conversation)}</h1>
      <Failure error={talk.error} />
      {talk.value !== undefined && turns.length === 0 ? <p class="quiet">No turn of it showed a memory.</p> : null}
      {turns.map(({ turn, at, memories }) => (
        <section key={turn}>
          <Heading aside={time(at)}>{turn === 1 ? "Turn 1, at the start" : `Turn ${turn}, beside the prompt`}</Heading>
          <ul class="rows">
            {memories.map((memory) => (
              <Memory key={memory.id} memory={memory} isOwner={isOwner} onDone={talk.again} />
            ))}
          </ul>
        </section>
      ))}
      {total <= turns.length ? null : (
        <div class="buttons">
          <Action run={() => Promise.resolve(setPages(pages + 1))}>Show older turns</Action>
        </div>
      )}
    </>
  );
}

type MemoryProps = { memory: ShownMemory; isOwner: boolean; onDone: () => void };

function Memory({ memory, isOwner, onDone }: MemoryProps) {
  const { id, drawer, text, place, score, outcomes, moves } = memory;
  if (drawer === null)
    return (
      <li class="pad-y" data-memory={id}>
        <span class="one quiet">{plain(id)} was removed since.</span>
      </li>
    );
  const said = [
    plain(place),
    score === null ? "not scored yet" : `score ${score.toFixed(2)}`,
    ...outcomes.map(({ outcome, by }) => `${outcome} by ${by}`),
    ...moves.map(({ from, to, timestamp }) => `${from} → ${to}, ${time(timestamp)}`),
  ];
  return (
    <li class="pad-y" data-memory={id}>
      <a class="one" dir="auto" href={href("drawer", { id: drawer })}>
        {title(text)}
      </a>
      <small data-number="outcomes">{said.join(" · ")}</small>
      {isOwner ? <OwnWord id={id} onDone={onDone} /> : null}
    </li>
  );
}
