/** Draws an entity, its neighbours and their neighbours in the knowledge graph. A list beside it is for keyboards and screen readers. */
import { type Fact, heldAt, listFacts, rivalry } from "./known.ts";
import { href, useLoaded } from "./parts.tsx";
import { plain, plural } from "./words.ts";

type Place = { name: string; x: number; y: number };
type Edge = { key: string; from: Place; to: Place; facts: Fact[] };
type Drawing = { places: Map<string, Place>; edges: Edge[]; neighbours: number };

const NEAR_MAX = 10;
const FAR_MAX = 14;
/** Maximum number of facts to load for each neighbour. */
const FAR_FACTS = 20;
const WIDTH = 720;
const HEIGHT = 460;
/** Maximum number of letters of a name in the drawing. The tooltip has the whole name. */
const LETTERS = 16;

type Props = { entity: string; facts: readonly Fact[]; day: string | undefined; changed: number };

export function Neighbourhood({ entity, facts, day, changed }: Props) {
  const near = neighboursOf(entity, facts);
  const asked = near.slice(0, NEAR_MAX);
  const load = () => Promise.all(asked.map(async (name) => (await listFacts(name, 0, FAR_FACTS)).rows));
  const far = useLoaded(load, [JSON.stringify(asked)], changed);
  if (near.length === 0) return null;
  const known = [...facts, ...(far.value ?? []).flat().filter((fact) => day === undefined || heldAt(fact, day))];
  const isDoubtful = rivalry(known);
  const { places, edges, neighbours } = draw(entity, known);
  return (
    <figure class="graph" data-graph={entity}>
      <div class="table" tabIndex={0} role="region" aria-label="Drawing of the facts; the list below has them all">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
          {edges.map((edge) => (
            <Line
              key={edge.key}
              edge={edge}
              isDoubtful={edge.facts.some(isDoubtful)}
              isNear={edge.from.name === entity}
            />
          ))}
          {[...places].map(([key, place]) => (
            <Entity key={key} place={place} isCentre={place.name === entity} />
          ))}
        </svg>
      </div>
      <figcaption class="quiet">
        {neighbours > NEAR_MAX ? `${NEAR_MAX} of ${plural(neighbours, "neighbour")} are drawn. ` : ""}
        Full line: holds. Dashed: ended by now. Thick: two values hold.
      </figcaption>
    </figure>
  );
}

function Entity({ place: { name, x, y }, isCentre }: { place: Place; isCentre: boolean }) {
  const whole = plain(name);
  const letters = [...whole];
  return (
    <a href={href("facts", { entity: name })} tabindex={-1} class={isCentre ? "centre" : ""}>
      <title>{whole}</title>
      <circle cx={x} cy={y} r={isCentre ? 9 : 6} />
      <text x={x} y={y - 11}>
        {letters.length > LETTERS ? `${letters.slice(0, LETTERS - 1).join("")}…` : whole}
      </text>
    </a>
  );
}

type LineProps = { edge: Edge; isDoubtful: boolean; isNear: boolean };

function Line({ edge: { from, to, facts }, isDoubtful, isNear }: LineProps) {
  const state = isDoubtful ? "doubtful" : facts.some(({ current }) => current) ? "holds" : "ended";
  const [first] = facts;
  const predicates = new Set(facts.map(({ predicate }) => predicate.replaceAll("_", " ")));
  const word = predicates.size > 1 || first === undefined ? plural(facts.length, "fact") : [...predicates].join();
  return (
    <g class={`edge ${state}`}>
      <title>
        {facts.map(({ subject, predicate, object }) => plain(`${subject} ${predicate} ${object}`)).join("\n")}
      </title>
      <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
      {isNear ? (
        <text x={from.x + 0.6 * (to.x - from.x)} y={from.y + 0.6 * (to.y - from.y) + 4}>
          {plain([...word].slice(0, LETTERS).join(""))}
        </text>
      ) : null}
    </g>
  );
}

/** Returns the same key for all names of an entity: upper and lower case are equal, and so are blank and underscore. */
function keyOf(name: string): string {
  return name.normalize("NFC").toLowerCase().replaceAll(" ", "_");
}

/** Returns the entities that share a fact with `entity`: first those with a current fact. */
function neighboursOf(entity: string, facts: readonly Fact[]): string[] {
  const centre = keyOf(entity);
  const names = new Map<string, string>();
  for (const { subject, object } of [...facts].sort((a, b) => Number(b.current) - Number(a.current))) {
    const [one, other] = [keyOf(subject), keyOf(object)];
    if (one === centre && other !== centre && !names.has(other)) names.set(other, object);
    if (other === centre && one !== centre && !names.has(one)) names.set(one, subject);
  }
  return [...names.values()];
}

/** Places the entity in the middle, its neighbours around it, and the neighbours of each neighbour outside, near that neighbour. */
function draw(entity: string, facts: readonly Fact[]): Drawing {
  const near = neighboursOf(entity, facts);
  const places = new Map<string, Place>([[keyOf(entity), { name: entity, x: WIDTH / 2, y: HEIGHT / 2 }]]);
  const put = (name: string, turn: number, radius: number): void => {
    const [x, y] = [Math.cos(2 * Math.PI * turn), Math.sin(2 * Math.PI * turn)];
    places.set(keyOf(name), {
      name,
      x: WIDTH / 2 + radius * x * (WIDTH / 2 - 60),
      y: HEIGHT / 2 + 8 + radius * y * (HEIGHT / 2 - 24),
    });
  };
  const nearKeys = new Set(near.map(keyOf));
  const ring = near.slice(0, NEAR_MAX);
  // Neighbours alternate between two distances, so that their names do not cover each other.
  ring.forEach((name, at) => put(name, at / ring.length - 0.25, ring.length > 6 && at % 2 === 1 ? 0.62 : 0.48));
  const each = Math.max(1, Math.floor(FAR_MAX / ring.length));
  ring.forEach((name, at) => {
    const further = neighboursOf(name, facts).filter((one) => !places.has(keyOf(one)) && !nearKeys.has(keyOf(one)));
    const some = further.slice(0, Math.min(each, 4));
    some.forEach((one, number) => {
      const aside = (number - (some.length - 1) / 2) / (ring.length * Math.max(some.length, 2));
      put(one, at / ring.length - 0.25 + aside, 1);
    });
  });
  return { places, edges: edgesOf(facts, places), neighbours: near.length };
}

/** Returns one line for each pair of drawn entities that share facts. A fact counts once, even if it was loaded for both entities. */
function edgesOf(facts: readonly Fact[], places: ReadonlyMap<string, Place>): Edge[] {
  const edges = new Map<string, Edge>();
  const seen = new Set<string>();
  for (const fact of facts) {
    const [one, other] = [keyOf(fact.subject), keyOf(fact.object)];
    const [from, to] = [places.get(one), places.get(other)];
    const text = JSON.stringify(fact);
    if (from === undefined || to === undefined || from === to || seen.has(text)) continue;
    seen.add(text);
    const key = JSON.stringify([one, other].sort());
    const [first] = places.values();
    // Each line begins at the entity in the middle, so that the label of the line is near the neighbour.
    const ends = to === first ? { from: to, to: from } : { from, to };
    const edge = edges.get(key) ?? { key, ...ends, facts: [] };
    edge.facts.push(fact);
    edges.set(key, edge);
  }
  return [...edges.values()];
}
