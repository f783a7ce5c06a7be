/** The first view: the content of the memory, the writes of today by client, and the health. */
import { call, type News } from "./client.ts";
import { Curve } from "./chart.tsx";
import { authorOf, type Drawer, listDrawers, listPlaces, sum } from "./drawers.ts";
import { healthOf } from "./health.ts";
import { PlaceMap } from "./map.tsx";
import { Failure, Heading, href, useLoaded, useSlowly } from "./parts.tsx";
import { bytes, count, plain, plural, startOfToday, time, title } from "./words.ts";

const NEWEST = 8;
const WRITES_MAX = 500;
/** Interval at which the page reads the journal while others write, ms. */
const TODAY_MS = 6_000;

type Props = { news: News | undefined; changed: number; isOwner: boolean };

export function Home({ news, changed, isOwner }: Props) {
  const places = useLoaded(listPlaces, [], changed);
  const newest = useLoaded(() => listDrawers({}, 0, NEWEST), [], changed);
  const tiles = [...(places.value ?? [])].map(([name, rooms]) => ({ name, drawers: sum(rooms) }));
  tiles.sort((a, b) => b.drawers - a.drawers);
  return (
    <>
      <h1 class="sr">Home</h1>
      <Numbers news={news} rooms={[...(places.value?.values() ?? [])].flat().length} />
      <section>
        <Heading aside="larger tiles hold more drawers">Wings</Heading>
        <Failure error={places.error} />
        {places.value !== undefined && tiles.length === 0 ? <Empty /> : null}
        <PlaceMap tiles={tiles} to={({ name }) => href("place", { wing: name })} label="Wings" />
        {tiles.length > 24 ? <MoreWings tiles={tiles.slice(24)} /> : null}
      </section>
      <div class="columns">
        <section>
          <Heading>Newest</Heading>
          <Failure error={newest.error} />
          <ul class="rows">
            {newest.value?.rows.map((drawer) => (
              <li key={drawer.drawer_id}>
                <DrawerLine drawer={drawer} />
              </li>
            ))}
          </ul>
        </section>
        <div>
          {isOwner ? <Today changed={changed} /> : null}
          <Growth changed={changed} />
          <Health news={news} />
        </div>
      </div>
    </>
  );
}

function Numbers({ news, rooms }: { news: News | undefined; rooms: number }) {
  if (news === undefined) return <p class="quiet">Asking the broker …</p>;
  const numbers: [name: string, value: string, id: string][] = [
    ["drawers", count(news.drawers), "drawers"],
    ["wings", count(news.wings), "wings"],
    ["rooms", count(rooms), "rooms"],
    ["on disk", bytes(news.ledgerSizeBytes), "size"],
    ["connected now", count(news.peers), "peers"],
    ["writes since the start", count(news.queue.acknowledged), "acknowledged"],
  ];
  return (
    <dl class="numbers">
      {numbers.map(([name, value, id]) => (
        <div key={id}>
          <dt>{name}</dt>
          <dd data-number={id}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Empty() {
  return (
    <p class="empty">
      The memory is empty. Type <code>palace add "a first note"</code>, or let an agent work.
    </p>
  );
}

function MoreWings({ tiles }: { tiles: { name: string; drawers: number }[] }) {
  return (
    <details>
      <summary>{plural(tiles.length, "more wing")}</summary>
      <ul class="flow">
        {tiles.map(({ name, drawers }) => (
          <li key={name}>
            <a href={href("place", { wing: name })}>{plain(name)}</a> <span class="quiet">{count(drawers)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

export function DrawerLine({ drawer, withPlace = true }: { drawer: Drawer; withPlace?: boolean }) {
  const { drawer_id: id, wing, room, metadata, content_preview: begin = "" } = drawer;
  const facts = [
    withPlace ? `${plain(wing)} / ${plain(room)}` : "",
    time(String(metadata["filed_at"])),
    plain(authorOf(drawer)),
  ];
  return (
    <a class="line" href={href("drawer", { id })}>
      <span class="one" dir="auto">
        {title(begin)}
      </span>
      <small class="one">{facts.filter((fact) => fact !== "").join(" · ")}</small>
    </a>
  );
}

function Today({ changed: now }: { changed: number }) {
  const changed = useSlowly(now, TODAY_MS);
  const today = useLoaded(
    () => call("memory.audit", { sinceMs: startOfToday(), limit: WRITES_MAX }),
    [startOfToday()],
    changed,
  );
  const entries = today.value?.entries ?? [];
  const byAgent = new Map<string, number>();
  for (const { agent } of entries) byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
  const most = Math.max(...byAgent.values(), 1);
  const more = typeof today.value?.next === "number" && entries.length === WRITES_MAX ? "the newest " : "";
  return (
    <section>
      <Heading aside={<span data-number="today">{`${more}${plural(entries.length, "write")}`}</span>}>Today</Heading>
      <Failure error={today.error} />
      <ul class="bars">
        {[...byAgent]
          .sort(([, a], [, b]) => b - a)
          .map(([agent, writes]) => (
            <li key={agent}>
              <a href={href("history", { agent })}>{plain(agent)}</a>
              <span class="bar" aria-hidden="true">
                <i style={{ width: `${(100 * writes) / most}%` }} />
              </span>
              <span class="number">{count(writes)}</span>
            </li>
          ))}
      </ul>
      {today.value !== undefined && entries.length === 0 ? <p class="quiet">Nothing was written today.</p> : null}
    </section>
  );
}

function Growth({ changed: now }: { changed: number }) {
  const changed = useSlowly(now, TODAY_MS);
  const stats = useLoaded(() => call("palace.stats", {}), [], changed);
  const { unit, periods, undated } = stats.value?.growth ?? { unit: "day", periods: [], undated: 0 };
  const last = periods.at(-1);
  if (last === undefined) return <Failure error={stats.error} />;
  const curve = { times: periods.map(({ begins }) => begins), top: last.total, say: count };
  const series = [{ name: "drawers by then", values: periods.map(({ total }) => total) }];
  return (
    <section>
      <Heading aside={`by the ${unit} of filing`}>Growth</Heading>
      <p data-number="growth">
        {plural(last.total, "drawer")}, {count(last.filed)} of them filed in the {unit} {last.begins}
        {undated === 0 ? "" : `, ${count(undated)} on an unknown day`}
      </p>
      <Curve label="Growth" {...curve} series={series} isFolded />
    </section>
  );
}

export function Health({ news }: { news: News | undefined }) {
  return (
    <section>
      <Heading>Health</Heading>
      <ul class="health">
        {healthOf(news).map(({ name, is, says }) => (
          <li key={name} class={is}>
            <strong>{name}</strong> <span>{plain(says)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
