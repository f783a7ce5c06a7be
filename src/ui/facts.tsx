/** Facts of the knowledge graph: all or those of one entity, now or at an earlier time. */
import { useState } from "preact/hooks";
import { callTool } from "./client.ts";
import { Neighbourhood } from "./graph.tsx";
import { rivalry, type Fact, type FactPage, heldAt, listFacts } from "./known.ts";
import { Failure, Heading, href, LongList, useLoaded } from "./parts.tsx";
import { count, plain, plural } from "./words.ts";

const PAGE = 100;
const DAY_MS = 86_400_000;

export function Facts({ entity, changed }: { entity: string | undefined; changed: number }) {
  const stats = useLoaded(() => callTool("kg_stats", {}), [], changed);
  const number = (key: string) => Number(stats.value?.[key] ?? 0);
  return (
    <>
      <h1>Facts</h1>
      <Failure error={stats.error} />
      {stats.value === undefined ? null : (
        <p class="quiet">
          <span data-number="facts">{plural(number("triples"), "fact")}</span> about {count(number("entities"))}{" "}
          {number("entities") === 1 ? "entity" : "entities"}, {count(number("current_facts"))} of them hold now
        </p>
      )}
      <Find entity={entity} />
      {entity === undefined ? (
        <AllFacts changed={changed} />
      ) : (
        <Entity key={entity} entity={entity} changed={changed} />
      )}
    </>
  );
}

function Find({ entity }: { entity: string | undefined }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const asked = String(new FormData(event.currentTarget as HTMLFormElement).get("entity") ?? "").trim();
    location.hash = href("facts", { entity: asked === "" ? undefined : asked });
  };
  return (
    <form class="search facts-of" role="search" onSubmit={submit}>
      <label class="wide">
        Whom or what to ask about
        <input key={entity} name="entity" type="search" defaultValue={entity ?? ""} placeholder="everything" />
      </label>
      <button type="submit" class="main">
        Show
      </button>
    </form>
  );
}

function AllFacts({ changed }: { changed: number }) {
  return (
    <section>
      <Heading aside="in the order they began">All facts</Heading>
      <LongList
        label="Facts"
        rowHeight={64}
        inputs={[changed]}
        load={(offset, limit) => listFacts(undefined, offset, limit)}
        row={(fact) => <FactLine fact={fact} />}
      />
    </section>
  );
}

function Entity({ entity, changed }: { entity: string; changed: number }) {
  const [pages, setPages] = useState(1);
  const asked = useLoaded(() => manyFacts(entity, pages), [entity, pages], changed);
  const { rows: facts, total } = asked.value ?? { rows: [], total: 0 };
  const [atMs, setAt] = useState<number>();
  const from = Math.min(...facts.flatMap(timesOf), Date.now()) - DAY_MS;
  const day = atMs === undefined ? undefined : new Date(atMs).toISOString().slice(0, 10);
  const holds = (fact: Fact) => day === undefined || heldAt(fact, day);
  const shown = facts.filter(holds);
  const isDoubtful = rivalry(facts);
  return (
    <section>
      <Heading aside={<span data-number="shown">{plural(shown.length, "fact")}</span>}>{plain(entity)}</Heading>
      <Failure error={asked.error} />
      <label class="slider">
        {day === undefined ? "All times" : `As it was on ${day}`}
        <input
          type="range"
          min={from}
          max={Date.now()}
          step={DAY_MS}
          value={atMs ?? Date.now()}
          onInput={(event) => setAt(Number(event.currentTarget.value))}
        />
      </label>
      {day === undefined ? null : (
        <button type="button" onClick={() => setAt(undefined)}>
          All times
        </button>
      )}
      <Neighbourhood entity={entity} facts={shown} day={day} changed={changed} />
      <ul class="rows">
        {shown.map((fact) => (
          <li key={`${fact.subject} ${fact.predicate} ${fact.object} ${fact.valid_from}`}>
            <FactLine fact={fact} isDoubtful={isDoubtful(fact)} />
          </li>
        ))}
      </ul>
      {facts.length < total ? (
        <div class="buttons">
          <button type="button" onClick={() => setPages(pages + 1)}>
            Show more of {count(total)}
          </button>
        </div>
      ) : null}
      {asked.value !== undefined && shown.length === 0 ? <p class="quiet">Nothing is known of it then.</p> : null}
    </section>
  );
}

async function manyFacts(entity: string, pages: number): Promise<FactPage> {
  const offsets = Array.from({ length: pages }, (_, page) => page * PAGE);
  const all = await Promise.all(offsets.map((offset) => listFacts(entity, offset, PAGE)));
  return { rows: all.flatMap(({ rows }) => rows), total: all[0]?.total ?? 0 };
}

function FactLine({ fact, isDoubtful = false }: { fact: Fact; isDoubtful?: boolean }) {
  const { subject, predicate, object, valid_from: from, valid_to: to, current } = fact;
  const since = from === null ? "" : `since ${from.slice(0, 10)}`;
  const until = to === null ? "" : `until ${to.slice(0, 10)}`;
  return (
    <div class={`fact ${current ? "" : "ended"}`}>
      <span class="one">
        <a href={href("facts", { entity: subject })}>{plain(subject)}</a>{" "}
        <em>{plain(predicate.replaceAll("_", " "))}</em> <a href={href("facts", { entity: object })}>{plain(object)}</a>
      </span>
      <small class="one">
        {[current ? "holds" : "ended", since, until, isDoubtful ? "another value holds, too" : ""]
          .filter((part) => part !== "")
          .join(" · ")}
      </small>
    </div>
  );
}

function timesOf({ valid_from: from, valid_to: to }: Fact): number[] {
  return [from, to].flatMap((text) => (text === null ? [] : [Date.parse(text)])).filter((at) => !Number.isNaN(at));
}
