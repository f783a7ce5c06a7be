import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildClosets, type ClosetSource } from "../../../src/memory/closet/closets.ts";
import { knownNames, nameTags } from "../../../src/memory/closet/name-words.ts";
import { head } from "../../../src/memory/text/text.ts";
import type { Metadata } from "../../../src/memory/port/drawer.ts";
import { mempalaceMissing, MEMPALACE_VERSIONS, type MempalaceVersion, python } from "../../helpers/python-mempalace.ts";
import { seededRandom } from "../../helpers/random.ts";

const FILED_AT = "2026-11-22T10:00:00.123456";

/** Names that a user registered with MemPalace. */
const KNOWN = ["Zed", "eva", "Straße", "new service", "a-b", "ΩMEGA", "kelvin", "İzmir", "🙂", "sſ", "(x)"];

/** Python script that makes closets as upstream's `process_file` does after it filed a file's drawers. */
const BUILD = `
import hashlib, json, sys
import mempalace.miner
from mempalace.miner import _extract_entities_for_metadata
from mempalace.palace import NORMALIZE_VERSION, build_closet_lines, upsert_closet_lines
class Collection:
    def __init__(self): self.rows = []
    def upsert(self, documents, ids, metadatas):
        self.rows += [{"id": i, "text": d, "metadata": dict(m)} for i, d, m in zip(ids, documents, metadatas)]
mempalace.miner._load_known_entities = lambda: frozenset(json.loads(sys.argv[1]))
out = []
for case in json.load(open(sys.argv[2], encoding="utf-8")):
    source, wing, room, content = (case[key] for key in ("sourceFile", "wing", "room", "content"))
    metas = [one["metadata"] for one in case["drawers"]]
    lines = build_closet_lines(source, [one["id"] for one in case["drawers"]], content, wing, room, drawer_metas=metas)
    meta = {"wing": wing, "room": room, "source_file": source, "drawer_count": len(metas),
            "filed_at": case["filedAt"], "normalize_version": NORMALIZE_VERSION}
    entities = _extract_entities_for_metadata(content)
    if entities: meta["entities"] = entities
    collection = Collection()
    base = f"closet_{wing}_{room}_{hashlib.sha256(source.encode()).hexdigest()[:24]}"
    upsert_closet_lines(collection, base, lines, meta)
    out.append({"closets": collection.rows, "tags": _extract_entities_for_metadata(content[:800])})
json.dump(out, sys.stdout)`;

type Answer = { closets: unknown; tags: string };

async function upstream(
  version: MempalaceVersion,
  sources: readonly Source[],
  env: Record<string, string> = {},
): Promise<Answer[]> {
  const home = mkdtempSync(join(tmpdir(), "upstream-"));
  try {
    const file = join(home, "sources.json");
    writeFileSync(file, JSON.stringify(sources));
    return JSON.parse(await python(version, home, BUILD, [JSON.stringify(KNOWN), file], env)) as Answer[];
  } finally {
    rmSync(home, { recursive: true });
  }
}

type Source = Omit<ClosetSource, "recipe" | "known" | "languages">;

const LINES: Metadata = { line_start: 1, line_end: 3, content_date: "2026-01-02" };

function source(content: string, given: Partial<Source> = {}, metadata: Metadata = LINES): Source {
  const drawers = ["d1", "d2", "d3", "d4"].map((id) => ({ id, metadata }));
  return { sourceFile: "/p/a.md", wing: "proj", room: "general", content, drawers, filedAt: FILED_AT, ...given };
}

const heading = (count: number): string =>
  Array.from({ length: count }, (_, n) => `## Heading number ${n} ${"long words ".repeat(3)}`).join("\n\n");

const CASES: readonly Source[] = [
  source(
    '# Auth design\n\nWe built the auth service with Redis cache. Redis was fast. Alice said "use tokens for every request" and Alice agreed.',
  ),
  source("nothing here", { sourceFile: "/p/notes-file.md" }, {}),
  ...["", " ", "x", "\n\n\n", '"', '""', "\u0000", "🙂".repeat(5_100)].map((text) => source(text)),
  // The closet builder reads only the first 5,000 code points of a file. In these texts that limit is within a heading or a sentence.
  source(`${"🙂".repeat(4_990)} fixed the thing beyond`),
  source(`${"a ".repeat(2_490)}\n# A heading across the end of it`),
  // Quotes at both limits of length, quotes over several lines, unpaired and curly quotes, and the lines of a quote that is longer than a
  // closet.
  ...[14, 15, 150, 151].map((length) => source(`"${"q".repeat(length)}" and "${"🙂".repeat(length)}"`)),
  source('"over several\nlines of text" "and a second quote" "and a third quote" "and a fourth quote"'),
  source('an odd " number of marks " in this text, "the last is never closed'),
  source("“curly quotes are not straight ones” said «nobody at all»"),
  source(`${"built x".repeat(3)} fixed the\n\nbug   in\tthe parser\u00a0and\u2003more\u001cthings`),
  source("BUILT the Thing\nFıxed the İstanbul bug\nFİXED that too\ndecıded it\npuſhed the button here\nwrote ab"),
  source("rebuilt the house of cards and prefixed it with words"),
  source(
    "# ab\n## abcde\n### Ünïcödé heading — with dashes\n#### too deep it is\n#no space here\n#\n\nover lines\r\n# crlf heading\r\n# trailing   \n",
  ),
  source("# line separator\u2028# inside heading\u2029more\rtext here"),
  source(`# ${"h".repeat(60)}\n# ${"h".repeat(61)}\n#${" ".repeat(30)}${"x".repeat(40)}`),
  source(
    "Éloise Éloise Zoë Zoë Ana Ana Ana McDonald McDonald FooBar FooBarBAZ FooBarBAZ HTTPServer HTTPServer XMLHttp",
  ),
  source("Alice_x Alice_x Bob2 Bob2 Carl-Dee Carl-Dee O'Neil O'Neil 中Eve Eve中 Eve Eve Aß Aß Code Code Phase Phase"),
  source("Zed Yan Xia Zed Yan Xia Wim Wim Vic Vic Una Una Tom Tom Tom Al Al Bo Bo Monday Monday User User"),
  source(
    "FooBArx FooBArx FooB FooB AaBBB AaBBB AaBBBc AaBBBc AaBcDDDe AaBcDDDe AaBBcc AaBBcc AaBbCC AaBbCC AaBBBB1 AaBBBB1",
  ),
  // Names of products, then strings that are too long for a name.
  source(
    "Claude Code is Claude Code; claude  code, CLAUDE CODE 2 and Claude-Code. Claude Claude, claude opus 4.5 Claude Opus",
  ),
  source("GPT-4 GPT-4 GPT-40 GPT-4o gpt-4O xGPT-5 GPT-5 GPT-5 Llama 3.1 llama 3 Llama 3.1.2 Y Combinator y combinator"),
  source("Gemını Pro GEMİNİ PRO gemini pro Dockeſ DocKer Compose docker compoſe Visual Studio Code visual studio"),
  source(
    "Microsoft Azure DevOps Microsoft Azure DevOps Azure DevOps Google Cloud Platform Google Cloud Google cloud platform",
  ),
  ...[22, 23, 24, 25].map((length) =>
    source(`${"-".repeat(length - 4)}/Ana ${"Ana ".repeat(1)} é${"x".repeat(length)}/Bob Bob`),
  ),
  source(`Zed zed ZED zedé Éva éva EVA new service NEW SERVICE (x) xſſ kelvin KELVIN 🙂 Sſ SS ωmega izmir`),
  source(`${"Abcdefghijklmnopqrst ".repeat(2)}${"Abcdefghijklmnopqrstu ".repeat(2)}`),
  // Many topics and long drawer ids, so that a source gets several closets. A line longer than a closet gets its own closet.
  source(heading(30), { wing: "w".repeat(60), room: "r".repeat(60) }),
  source(heading(12), { drawers: [{ id: "d".repeat(700), metadata: LINES }] }),
  source(heading(5), { drawers: [{ id: "d".repeat(1_600), metadata: LINES }] }),
  source(`${heading(4)} "🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂"`, { drawers: [{ id: "ü".repeat(1_300), metadata: {} }] }),
  // Metadata with the numbers of the drawer's lines in the file: both numbers, zeros, or only the first number.
  source("plain", {}, { line_start: 1, line_end: 2, filed_at: FILED_AT }),
  source("plain", {}, { line_start: 1, line_end: 2 }),
  source("plain", {}, { line_start: 0, line_end: 0, content_date: "", filed_at: "2026-02-03" }),
  source("plain", {}, { line_start: 4, content_date: "2026-01-02" }),
  source("one drawer", { drawers: [{ id: "d1", metadata: LINES }] }),
  ...[
    "/p/.hidden",
    "/p/a.tar.gz",
    "/p/name.",
    "/p/no-dot",
    "/p/dir/",
    "/p/..",
    "relative.md",
    `/p/${"ü".repeat(50)}.md`,
    "/p/日本 語.md",
    "a\\b.md",
  ].map((sourceFile) => source("plain", { sourceFile })),
];

function drawn(seed: number): Source {
  const random = seededRandom(seed);
  const words = [
    ..."Claude Code,GPT-4,GitHub Copilot,google drive,İzmir,eva,(x)".split(","),
    ...'built Fixed WROTE added tested removed # ## ### " " " \' | → ; Alice Bob Redis Éva Ωmega Straße İzmir Code The'.split(
      " ",
    ),
    ...[
      "\n",
      "\n\n",
      "\r\n",
      "\t",
      "  ",
      "\u00a0",
      "\u2028",
      "\u3000",
      "🙂",
      "é",
      "日本語",
      "_x",
      "42",
      "deployed",
      "a-b",
    ],
    ...["the parser of the new service", "some longer words in between them", "FooBar", "x"],
  ];
  const length = Math.floor(random() * 220);
  const content = Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(
    random() < 0.2 ? "" : " ",
  );
  return source(content, { sourceFile: `/p/${seed}.md`, wing: `w${seed % 3}`, room: "ro om" }, seed % 2 ? LINES : {});
}

/**
 * Language settings: one language, English before or after another one, one language twice, one in capitals, one without its own patterns,
 * unknown languages.
 */
const LANGUAGES = ["de", "ru,en", "en,fr", "hi", "id,en", "PT-BR, be ,it", "es,en,es", "ja", "ko,ru", "xx,tlh"];

/** Makes a text with words of all languages: names, words that differ from a name by one letter, and characters beside names. */
function spoken(seed: number): Source {
  const random = seededRandom(seed);
  const words = [
    ...["Jürgen", "Straße", "Äpfel", "ÄPFEL", "Grüße", "Иван", "Ёлка", "ёж", "Ўладзімір", "Іван", "ИванИван", "Иван2"],
    ...["François", "Œuvre", "Ÿves", "Noël", "Señor", "Ñandú", "João", "Ítalo", "Über", "Çelik", "Øyvind", "Łukasz"],
    ...[
      "राम",
      "सीता",
      "क",
      "दिल्ली",
      "राम।",
      "रामx",
      "BUMN",
      "eFaktur",
      "Jakarta",
      "iPhone_2",
      "DPR",
      "aB",
      "A1B",
      "Àé",
    ],
    ...[
      "Alice",
      "Bob",
      "FooBar",
      "Code",
      "é",
      "Éva",
      "x",
      "_Jürgen",
      "Jürgen-Иван",
      "A" + "b".repeat(19),
      "A" + "b".repeat(20),
    ],
  ];
  const content = Array.from({ length: Math.floor(random() * 120) }, () => words[Math.floor(random() * words.length)]);
  return source(content.join(random() < 0.2 ? "," : " "), { sourceFile: `/p/${seed}.md` });
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.warn(`skipped: ${missing}`);
  const recipe = version === "3.3.6" ? "bare" : "v3";
  test.skipIf(missing !== undefined)(
    `closets, and the names found in drawers, equal those of MemPalace ${version} in every character`,
    { timeout: 120_000 },
    async () => {
      const first = Number(process.env["FUZZ_SEED"] ?? 1) * 1_000;
      const sources = [...CASES, ...Array.from({ length: 300 }, (_, n) => drawn(first + n))];
      const theirs = await upstream(version, sources);
      const known = knownNames(KNOWN);
      sources.forEach((one, index) => {
        const closets = buildClosets({ ...one, recipe, known });
        const tags = nameTags(head(one.content, 800), { recipe, known });
        expect({ closets, tags }, JSON.stringify({ seed: first, one })).toEqual(theirs[index]);
      });
    },
  );

  for (const languages of LANGUAGES)
    test.skipIf(missing !== undefined)(
      `names in ${languages} are found as MemPalace ${version} finds them`,
      { timeout: 120_000 },
      async () => {
        const first = Number(process.env["FUZZ_SEED"] ?? 1) * 1_000;
        const sources = [...CASES, ...Array.from({ length: 120 }, (_, n) => spoken(first + n))];
        const theirs = await upstream(version, sources, { MEMPALACE_ENTITY_LANGUAGES: languages });
        const tagging = { recipe, known: knownNames(KNOWN), languages: languages.split(",") } as const;
        sources.forEach((one, index) => {
          const closets = buildClosets({ ...one, ...tagging });
          const tags = nameTags(head(one.content, 800), tagging);
          expect({ closets, tags }, JSON.stringify({ seed: first, one })).toEqual(theirs[index]);
        });
      },
    );
}
