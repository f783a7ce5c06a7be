/** Search as in the terminal: passages with marked words, filters, the reasons for each hit's rank, and hits that nearly fit. */
import { useState } from "preact/hooks";
import { call } from "./client.ts";
import { listPlaces } from "./drawers.ts";
import { Failure, href, useLoaded } from "./parts.tsx";
import { marked, passage, plain, plural, time, title } from "./words.ts";

type Change = { factor: number; reason: string };
type Explanation = {
  cosine: number | null;
  static_cosine: number | null;
  identifiers_held: number;
  names_held: number;
  file_score: number;
  bm25: { share_of_best: number };
  weights: Record<"cosine" | "meaning" | "words" | "identifiers" | "names", number>;
  confidence: number;
  promoted: Change[];
  demoted: Change[];
};
type Hit = {
  drawer_id: string;
  text: string;
  wing: string;
  room: string;
  score?: number;
  weak?: boolean;
  outdated?: { fact: string; ended: string }[];
  filed_at?: string;
  source_path?: string;
  superseded_by?: string;
  explain?: Explanation;
};

const HITS = 20;

export type Asked = { query: string; wing: string | undefined; room: string | undefined };

export function Search({ query, wing, room }: Asked) {
  const places = useLoaded(listPlaces, []);
  const found = useLoaded(() => find({ query, wing, room }), [query, wing, room]);
  const good = found.value?.filter(({ weak }) => weak !== true) ?? [];
  const near = found.value?.filter(({ weak }) => weak === true) ?? [];
  const wings = [...(places.value?.keys() ?? [])];
  const rooms = [
    ...new Set(
      [...(places.value?.entries() ?? [])]
        .filter(([name]) => wing === undefined || name === wing)
        .flatMap(([, all]) => all.map(({ name }) => name)),
    ),
  ];
  return (
    <>
      <h1>Search</h1>
      <Form key={`${query} ${wing} ${room}`} asked={{ query, wing, room }} wings={wings} rooms={rooms} />
      <Failure error={found.error} />
      {query === "" || found.value === undefined ? null : (
        <p class="quiet" role="status" data-number="hits">
          {good.length === 0 ? "Nothing good was found." : `${plural(good.length, "hit")}, the best first.`}
        </p>
      )}
      <Hits hits={good} query={query} />
      {near.length === 0 ? null : (
        <section>
          <h2>Near misses</h2>
          <Hits hits={near} query={query} />
        </section>
      )}
    </>
  );
}

async function find({ query, wing, room }: Asked): Promise<Hit[]> {
  if (query === "") return [];
  const filters = { ...(wing !== undefined && { wing }), ...(room !== undefined && { room }) };
  const { results } = await call("drawer.search", { query, ...filters, limit: HITS, explain: true, scope: "all" });
  return (results ?? []) as unknown as Hit[];
}

function Form({ asked, wings, rooms }: { asked: Asked; wings: string[]; rooms: string[] }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(fields.get(name) ?? "").trim() || undefined;
    location.hash = href("search", { q: text("q"), wing: text("wing"), room: text("room") });
  };
  return (
    <form class="search" role="search" onSubmit={submit}>
      <label class="wide">
        What to look for
        <input name="q" type="search" defaultValue={asked.query} autofocus maxLength={2000} />
      </label>
      <label>
        Wing
        <input name="wing" list="wings" defaultValue={asked.wing ?? ""} placeholder="any" />
      </label>
      <label>
        Room
        <input name="room" list="rooms" defaultValue={asked.room ?? ""} placeholder="any" />
      </label>
      <button type="submit" class="main">
        Search
      </button>
      <Words id="wings" words={wings} />
      <Words id="rooms" words={rooms} />
    </form>
  );
}

export function Words({ id, words }: { id: string; words: readonly string[] }) {
  return (
    <datalist id={id}>
      {words.slice(0, 200).map((word) => (
        <option key={word} value={word} />
      ))}
    </datalist>
  );
}

function Hits({ hits, query }: { hits: readonly Hit[]; query: string }) {
  return (
    <ol class="hits">
      {hits.map((hit) => (
        <li key={hit.drawer_id}>
          <HitView hit={hit} query={query} />
        </li>
      ))}
    </ol>
  );
}

function HitView({ hit, query }: { hit: Hit; query: string }) {
  const { drawer_id: id, text, wing, room, filed_at: filedAt, outdated = [], explain, superseded_by: newer } = hit;
  const file = (hit.source_path ?? "").split(/[/\\]/).slice(-2).join("/");
  return (
    <article>
      <h3 class="one" dir="auto">
        <a href={href("drawer", { id })}>{title(text)}</a>
      </h3>
      <p class="passage" dir="auto">
        {marked(plain(passage(text, query)), query).map(({ text: piece, isMatch }) =>
          isMatch ? <mark>{piece}</mark> : piece,
        )}
      </p>
      <small>
        {plain(`${wing} / ${room}`)} · {file === "" ? "" : `${plain(file)} · `}
        {time(filedAt)}
      </small>
      {newer === undefined ? null : (
        <p>
          <a href={href("drawer", { id: newer })}>A newer statement</a> replaces this one.
        </p>
      )}
      {outdated.map(({ fact, ended }) => (
        <p class="failure" key={fact}>
          No longer so since {time(ended) || ended}: {plain(fact)}
        </p>
      ))}
      {explain === undefined ? null : <Why explain={explain} score={hit.score ?? 0} />}
    </article>
  );
}

function Why({ explain, score }: { explain: Explanation; score: number }) {
  const [isOpen, setOpen] = useState(false);
  const { weights, cosine, static_cosine: near, bm25, promoted, demoted } = explain;
  const parts: [name: string, worth: number][] = [
    ["meaning", weights.cosine * (cosine ?? 0) + weights.meaning * (near ?? 0)],
    ["words", weights.words * bm25.share_of_best],
    ["names", weights.names * explain.names_held + weights.identifiers * explain.identifiers_held],
    ["file", explain.file_score],
  ];
  const held = parts.filter(([, worth]) => worth > 0.001);
  const sum = held.reduce((total, [, worth]) => total + worth, 0);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>why it is here: score {score.toFixed(2)}</summary>
      {!isOpen ? null : (
        <div class="why">
          <span class="bar" aria-hidden="true">
            {held.map(([name, worth]) => (
              <i key={name} class={name} style={{ width: `${(100 * worth) / Math.max(sum, 1)}%` }} />
            ))}
          </span>
          <ul class="flow">
            {held.map(([name, worth]) => (
              <li key={name}>
                <i class={`dot ${name}`} aria-hidden="true" /> {name} {worth.toFixed(2)}
              </li>
            ))}
            {[...promoted, ...demoted].map(({ factor, reason }) => (
              <li key={reason}>
                × {factor.toFixed(2)}: {plain(reason)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </details>
  );
}
