/** Makes seeded English sentences. Made-up words have twice as many tokens, which would hide the cost of padding a batch. */
import { seededRandom } from "../helpers/random.ts";

const NOUNS =
  "river table letter engine garden market bridge window morning captain question harbor answer village teacher winter paper valley window story kitchen doctor station mountain forest evening machine journey brother sister measure reason island company library summer weather number season picture building corner village palace memory drawer server client record index report meeting project release version branch feature customer supplier invoice contract payment budget schedule deadline holiday airport ticket passport luggage hotel restaurant menu recipe flour butter sugar oven coffee bottle glass candle blanket pillow mattress carpet curtain ceiling plumber painter neighbour fence orchard apple cherry harvest tractor barn stable horse saddle blacksmith hammer anvil furnace copper silver iron timber sawmill carpenter cabinet violin concert rehearsal audience curtain theatre actor costume museum painting sculpture gallery museum novel chapter author publisher newspaper editor headline election parliament minister treaty border customs merchant cargo sailor anchor compass lighthouse storm current tide beach shell fisherman".split(
    " ",
  );
const VERBS =
  "carried opened followed watched repaired answered counted described remembered forgot crossed painted measured sold borrowed returned collected planted visited replaced compared finished started explained promised refused accepted delayed improved tested deployed reviewed merged reverted scheduled cancelled booked cooked tasted washed folded polished mended stored shipped weighed divided doubled lowered lifted pushed pulled guarded signed printed translated published rehearsed recorded repeated noticed ignored praised doubted trusted".split(
    " ",
  );
const ADJECTIVES =
  "old quiet narrow early heavy bright distant careful broken empty honest patient wooden cold warm late strange familiar useful costly simple common rare northern southern public private modern ancient crowded lonely clever gentle steady rapid slow hidden open local foreign certain doubtful bitter sweet sharp smooth rough".split(
    " ",
  );
const ADVERBS = "often rarely slowly quickly again later twice once nearly always never almost finally together".split(
  " ",
);
const LINKS = "near behind under across after before without beside against toward through around".split(" ");
const TURNS = "because although while until since whenever so that and but when".split(" ");

export class English {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  sentence(): string {
    const parts = [this.#clause()];
    if (this.#random() < 0.5) parts.push(this.#one(TURNS), this.#clause());
    const text = parts.join(" ");
    return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}.`;
  }

  /** Returns paragraphs of about `characters` characters in all. */
  text(characters: number): string {
    const paragraphs: string[] = [];
    for (let length = 0; length < characters;) {
      const sentences = Array.from({ length: 3 + Math.floor(this.#random() * 5) }, () => this.sentence());
      const paragraph = sentences.join(" ");
      paragraphs.push(paragraph);
      length += paragraph.length + 2;
    }
    return paragraphs.join("\n\n");
  }

  query(): string {
    return `where was the ${this.#one(ADJECTIVES)} ${this.#one(NOUNS)} ${this.#one(VERBS)} ${this.#one(LINKS)} the ${this.#one(NOUNS)}`;
  }

  #clause(): string {
    const seldom = this.#random() < 0.3 ? `${this.#one(ADVERBS)} ` : "";
    const place = this.#random() < 0.6 ? ` ${this.#one(LINKS)} ${this.#thing()}` : "";
    return `${this.#thing()} ${seldom}${this.#one(VERBS)} ${this.#thing()}${place}`;
  }

  #thing(): string {
    return this.#random() < 0.6 ? `the ${this.#one(ADJECTIVES)} ${this.#one(NOUNS)}` : `a ${this.#one(NOUNS)}`;
  }

  /** Picks a word. As in real text, the first words of a list are more frequent. */
  #one(words: readonly string[]): string {
    return words[Math.floor(this.#random() ** 1.5 * words.length)] ?? "";
  }
}
