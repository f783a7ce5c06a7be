/** Makes settings from a seed as people write them: with comments, odd indentation, BOM, CRLF, trailing commas and repeated keys. */
import { seededRandom } from "../../../helpers/random.ts";

const WORDS = ["a", "theme", "", "ключ", "päth", "// no comment", "/* nor this */", "x,y", '"q"', "{", "]", "\\", "🙂"];

export class Chance {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }
  below(n: number): number {
    return Math.floor(this.#next() * n);
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
  is(percent: number): boolean {
    return this.below(100) < percent;
  }
}

/** Returns generated settings. `containers`: keys under which install puts our entries. Some settings already have these keys. */
export function settings(chance: Chance, containers: Record<string, () => string>): string {
  const style = {
    eol: chance.of(["\n", "\n", "\r\n"]),
    unit: chance.of(["  ", "    ", "\t", " ", ""]),
    comments: chance.is(50),
    trailing: chance.is(30),
    oneLine: chance.is(15),
  };
  const bom = chance.is(15) ? "\uFEFF" : "";
  if (chance.is(4)) return bom + chance.of(["", "\n", "  \r\n", "// nothing yet", "/* nothing */\n"]);
  let comment = 0;
  const noise = (): string => {
    if (!style.comments || !chance.is(30)) return "";
    comment += 1;
    if (style.oneLine || chance.is(50)) return chance.of([`/* c${comment}, */`, ` /* "c${comment}": { */ `]);
    return ` // c${comment}, } ${style.eol}`;
  };
  const write = (members: (readonly [string | undefined, string])[], depth: number, [open, close]: string): string => {
    if (members.length === 0)
      return `${open}${noise()}${chance.of(["", "", " ", style.oneLine ? "" : style.eol])}${close}`;
    const gap = style.oneLine ? "" : style.eol + style.unit.repeat(depth + 1);
    const rows = members.map(([key, value], at) => {
      const comma = at < members.length - 1 || style.trailing ? `${noise()},` : "";
      const name = key === undefined ? "" : `${JSON.stringify(key)}${chance.of(["", " "])}:${chance.of(["", " "])}`;
      return `${noise()}${chance.is(8) ? "" : gap}${name}${value}${comma}${noise()}`;
    });
    return `${open}${rows.join("")}${style.oneLine || chance.is(8) ? "" : style.eol + style.unit.repeat(depth)}${close}`;
  };
  const value = (depth: number): string => {
    const kind = depth > 3 ? chance.below(4) : chance.below(6);
    if (kind === 0) return chance.of(["null", "true", "false"]);
    if (kind === 1) return chance.of(["0", "-1.50", "1e9", "12345678901234567890"]);
    if (kind < 4) return JSON.stringify(chance.of(WORDS));
    const members = Array.from({ length: chance.below(4) }, (_, at): [string | undefined, string] => [
      kind === 4 ? undefined : `${chance.of(WORDS)}${at}`,
      value(depth + 1),
    ]);
    return write(members, depth, kind === 4 ? "[]" : "{}");
  };
  const members: [string | undefined, string][] = Array.from({ length: chance.below(5) }, (_, at) => [
    chance.is(10) ? "twice" : `${chance.of(WORDS)}-${at}`,
    value(1),
  ]);
  for (const [key, make] of Object.entries(containers)) {
    if (chance.is(50)) continue;
    const place = chance.below(members.length + 1);
    const inner = Array.from({ length: chance.below(3) }, (_, at): [string, string] => [`other${at}`, make()]);
    members.splice(place, 0, [key, write(inner, 1, "{}")]);
    if (chance.is(5)) members.splice(place, 0, [key, write([["lost", make()]], 1, "{}")]);
  }
  const tail = chance.of(["", style.eol, `${style.eol}${style.eol}`]);
  return `${bom}${noise()}${write(members, 0, "{}")}${noise()}${tail}`;
}
