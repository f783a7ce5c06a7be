/** Finds names of people and projects in English prose, exactly as upstream 3.11's entity_detector does (palace.md 5.8). */
import { COMMON_WORDS } from "../../memory/closet/common-words.ts";
import { candidateWords } from "../../memory/closet/name-words.ts";
import { takeProducts } from "../../memory/closet/product-names.ts";
import { anyCase } from "../../memory/text/text.ts";
import { pythonPattern } from "../convo-miner/python-pattern.ts";
import { linesOf } from "../convo-miner/split.ts";
import type { Entities, Entity } from "./entity.ts";
import { readStart, textFiles } from "./walk.ts";

const FILES_MAX = 10;
const FILE_CHARS_MAX = 5_000;
const TIMES_MIN = 3;
const PEOPLE_MAX = 15;
const PROJECTS_MAX = 10;
const UNCERTAIN_MAX = 8;
const SIGNALS_MAX = 3;
/** Matches 24 or more characters without a space, such as code or an address, which is not prose. */
const LONG_RUN = /[!-~]{24,}/g;
const PHRASE = pythonPattern(String.raw`\b[A-Z][a-z]+(?:\s+[A-Z][a-z]+)+\b`);
const PRONOUN = pythonPattern(String.raw`\b(?:she|hers?|he|h[iıİ]m|h[iıİ]s|they|them|the[iıİ]r)\b`, "iu");

/** Words that are not names, even with a capital letter. */
const STOP_WORDS = new Set(
  `
the a an and or but in on at to for of with by from as is was are were be been being have has had do does did will
would could should may might must shall can this that these those it its they them their we our you your i my me he
she his her who what when where why how which if then so not no yes ok okay just very really also already still even
only here there now too up out about like use get got make made take put come go see know think true false none null
new old all any some return print def class import step usage run check find add set list args dict str int bool
path file type name note example option result error warning info every each more less next last first second stack
layer mode test stop start copy move source target output input data item key value returns raises yields self cls
kwargs world well want topic choose social cars phones healthcare ex machina deus human humans people things
something nothing everything anything someone everyone anyone way time day life place thing part kind sort case
point idea fact sense question answer reason number version system hey hi hello thanks thank right let click hit
press tap drag drop open close save load launch install download upload scroll select enter submit cancel confirm
delete paste write read search show hide desktop documents downloads users home library applications preferences
settings terminal actor vector remote control duration fetch agents tools others guards ethics regulation learning
thinking memory language intelligence technology society culture future history science model models network
networks training inference created updated deleted added removed modified extracted processed generated compiled
launched installed deployed executed loaded parsed validated configured total summary covered included pending
failed success ready active disabled enabled available completed auto multi mini micro meta super hybrid context
bridge batch local global native cloud before after during often always never project contributor software backend
frontend server client service app api
`
    .trim()
    .split(/\s+/),
);

/** Patterns of lines in which a person speaks. The person's name replaces `@`. */
const SPEAKS = [
  String.raw`(?<![^\n])>\s*@[:\s]`,
  String.raw`(?<![^\n])@:\s`,
  String.raw`(?<![^\n])\[@\]`,
  String.raw`"@\s+said`,
];
/** Index of the pattern `@:` in SPEAKS. One such line may be a field of a list; two such lines mean a speaker. */
const SPEAKS_AS_FIELD = 1;
const ACTS = [
  ..."said asked told replied laughed smiled cried felt thinks? wants? loves? hates? knows? decided pushed wrote"
    .split(" ")
    .map((verb) => String.raw`\b@\s+${verb}\b`),
  ...["hey", "thanks?", "hi", "dear"].map((word) => String.raw`\b${word}\s+@\b`),
];
const ADDRESSED = String.raw`\bhey\s+@\b|\bthanks?\s+@\b|\bhi\s+@\b`;
const BUILT = [
  ...["building", "built", "ship(?:ping|ped)?", "launch(?:ing|ed)?", "deploy(?:ing|ed)?", "install(?:ing|ed)?"].map(
    (verb) => String.raw`\b${verb}\s+@\b`,
  ),
  ...["architecture", "pipeline", "system", "repo"].map((what) => String.raw`\bthe\s+@\s+${what}\b`),
  String.raw`\b@\s+v\d+\b`,
  String.raw`\b@\.py\b`,
  String.raw`\b@-core\b`,
  String.raw`\b@-local\b`,
  String.raw`\bimport\s+@\b`,
  String.raw`\bpip\s+install\s+@\b`,
];
const VERSIONED = String.raw`\b@[-_]v?\d+(?:\.\d+)*\b`;
const CODE_FILE = String.raw`\b@\.(?:py|js|ts|yaml|yml|json|sh)\b`;

/** Returns names that occur at least three times in the first FILE_CHARS_MAX characters of a few files. */
export function namesInProse(root: string): Entities {
  const texts = textFiles(root, FILES_MAX).flatMap((file) => readStart(file, FILE_CHARS_MAX) ?? []);
  const text = texts.join("\n");
  const lines = texts.flatMap(linesOf).map((line) => line.replace(/[\n\v\f\x1c-\x1e\x85\u2028\u2029]$/, ""));
  const found = candidates(text).map(([name, count]) => judge(name, count, text, lines));
  const of = (kind: Entity["kind"]): Entity[] => found.filter((entity) => entity.kind === kind);
  const byTrust = (entities: Entity[]): Entity[] => entities.sort((a, b) => b.confidence - a.confidence);
  return {
    people: byTrust(of("person")).slice(0, PEOPLE_MAX),
    projects: byTrust(of("project")).slice(0, PROJECTS_MAX),
    uncertain: of("uncertain").slice(0, UNCERTAIN_MAX),
  };
}

function candidates(text: string): [name: string, count: number][] {
  const { rest, counts: products } = takeProducts(text);
  const counts = new Map<string, number>(products);
  const add = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const word of candidateWords(rest.replace(LONG_RUN, " "))) {
    const lower = word.toLowerCase();
    if (!STOP_WORDS.has(lower) && !COMMON_WORDS.has(lower)) add(word);
  }
  for (const [phrase] of rest.matchAll(PHRASE()))
    if (!phrase.split(/\s+/).some((word) => STOP_WORDS.has(word.toLowerCase()))) add(phrase);
  return [...counts].filter(([, count]) => count >= TIMES_MIN).sort(([, a], [, b]) => b - a);
}

type Score = {
  person: number;
  project: number;
  ofPerson: string[];
  ofProject: string[];
  kinds: Set<string>;
  nearby: number;
};

function judge(name: string, count: number, text: string, lines: readonly string[]): Entity {
  const { person, project, ofPerson, ofProject, kinds, nearby } = scoreOf(name, text, lines);
  const entity = (kind: Entity["kind"], confidence: number, signals: string[]): Entity => {
    return { name, kind, confidence: Math.round(confidence * 100) / 100, count, signals };
  };
  if (person + project === 0)
    return entity("uncertain", Math.min(0.4, count / 50), [`appears ${count}x, no strong type signals`]);
  const share = person / (person + project);
  const isNear = nearby >= 5 && nearby / count >= 0.2;
  if (share >= 0.7 && ((kinds.size >= 2 && person >= 5) || isNear))
    return entity("person", Math.min(0.99, 0.5 + share * 0.5), ofPerson);
  if (share >= 0.7) return entity("uncertain", 0.4, [...ofPerson, `appears ${count}x — weak person signal`]);
  if (share <= 0.3) return entity("project", Math.min(0.99, 0.5 + (1 - share) * 0.5), ofProject);
  return entity("uncertain", 0.5, [
    ...[...ofPerson, ...ofProject].slice(0, SIGNALS_MAX),
    "mixed signals — needs review",
  ]);
}

/** Scores a name as upstream does: all signals add to the score, but only the first few are shown and decide about a person. */
function scoreOf(name: string, text: string, lines: readonly string[]): Score {
  const quoted = anyCase(name);
  const times = (source: string): number =>
    text.match(
      pythonPattern(
        source.replaceAll("@", () => quoted),
        "giu",
      )(),
    )?.length ?? 0;
  const people: { points: number; kind: string; words: string; times: number }[] = [];
  const signal = (points: number, kind: string, words: string, count: number): void => {
    if (count > 0) people.push({ points: points * count, kind, words: `${words} (${count}x)`, times: count });
  };
  SPEAKS.forEach((source, at) => {
    const count = times(source);
    if (at !== SPEAKS_AS_FIELD || count >= 2) signal(3, "dialogue", "dialogue marker", count);
  });
  for (const source of ACTS) signal(2, "action", `'${name} ...' action`, times(source));
  const lower = name.toLowerCase();
  const isNear = (line: string, at: number): boolean =>
    line.toLowerCase().includes(lower) && PRONOUN().test(lines.slice(Math.max(0, at - 2), at + 3).join(" "));
  signal(2, "pronoun", "pronoun nearby", lines.filter(isNear).length);
  signal(4, "addressed", "addressed directly", times(ADDRESSED));

  const things: { points: number; words: string }[] = [];
  const built = (points: number, words: string, count: number): void => {
    if (count > 0) things.push({ points: points * count, words: `${words} (${count}x)` });
  };
  for (const source of BUILT) built(2, "project verb", times(source));
  built(3, "versioned/hyphenated", times(VERSIONED));
  built(3, "code file reference", times(CODE_FILE));
  const shown = people.slice(0, SIGNALS_MAX);
  return {
    person: people.reduce((sum, { points }) => sum + points, 0),
    project: things.reduce((sum, { points }) => sum + points, 0),
    ofPerson: shown.map(({ words }) => words),
    ofProject: things.slice(0, SIGNALS_MAX).map(({ words }) => words),
    kinds: new Set(shown.map(({ kind }) => kind)),
    nearby: shown.find(({ kind }) => kind === "pronoun")?.times ?? 0,
  };
}
