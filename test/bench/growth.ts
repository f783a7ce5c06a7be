/** Collects how each call's cost grows with a palace, and prints a table. */

export type Cost = { value: number; unit: "ms" | "MiB" };
type Point = { size: number; cost: Cost; growth: number };
type Curve = { name: string; flat: boolean; points: Point[] };

/** Maximum exponent of a call's growth between two sizes. Linear growth has 1, and the rest allows for measurement errors. */
const LINEAR_MAX = 1.15;
/** Maximum factor by which a flat call's time may differ. Such a call must not grow, but measurements vary. */
const FLAT_MAX = 1.5;

export class Curves {
  readonly #smallest: number;
  readonly #curves = new Map<string, Curve>();

  constructor(smallest: number) {
    this.#smallest = smallest;
  }

  /** Adds a point. `base`: cost at the smallest size, measured alternately with `cost`. */
  note(name: string, size: number, cost: Cost, base: Cost, flat = false): void {
    const curve = this.#curves.get(name) ?? {
      name,
      flat,
      points: [{ size: this.#smallest, cost: base, growth: 1 }],
    };
    this.#curves.set(name, curve);
    curve.points.push({ size, cost, growth: cost.value / base.value });
  }

  /** Prints the curves. Returns true if no call grows faster than the palace and no flat call grows. */
  print(): boolean {
    const curves = [...this.#curves.values()];
    const shown = ({ value, unit }: Cost): string => `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
    const header = curves[0]?.points.map(({ size }) => `${size}`.padStart(11)).join("") ?? "";
    process.stdout.write(`${"drawers".padEnd(30)}${header}   growth exponents\n`);
    let misses = 0;
    for (const { name, flat, points } of curves) {
      const exponents = points.slice(1).map((point, at) => exponent(points[at] as Point, point));
      const last = points.at(-1)?.growth ?? 1;
      const fails = flat ? last > FLAT_MAX : exponents.some((one) => one > LINEAR_MAX);
      if (fails) misses += 1;
      const verdict = fails ? (flat ? "NOT FLAT" : "WORSE THAN LINEAR") : flat ? "flat" : "";
      const costs = points.map(({ cost }) => shown(cost).padStart(11)).join("");
      const steps = exponents.map((one) => one.toFixed(2).padStart(6)).join("");
      process.stdout.write(`${name.padEnd(30)}${costs}   ${steps}  × ${last.toFixed(1)}  ${verdict}\n`);
    }
    process.stdout.write(
      `growth is against the ${this.#smallest} drawers measured in turns with each size (the first column is of the first turn); ` +
        `${misses === 0 ? "nothing is worse than linear, what shall be flat is" : `${misses} curves miss`}\n`,
    );
    return misses === 0;
  }
}

function exponent(from: Point, to: Point): number {
  return Math.log(to.growth / from.growth) / Math.log(to.size / from.size);
}
