/** A curve over time, drawn as SVG, and its table with every number. */

export type Series = { name: string; values: readonly (number | undefined)[] };

type Props = {
  label: string;
  /** Days, months or years, oldest first. Distances in the drawing are proportional to time. */
  times: readonly string[];
  series: readonly Series[];
  top: number;
  say: (value: number) => string;
  /** True to fold the table until the user opens it. */
  isFolded?: boolean;
};

const WIDTH = 600;
const HEIGHT = 120;
/** Number of line styles, so that curves also differ without colour. */
const STYLES = 4;

export function Curve({ label, times, series, top, say, isFolded = false }: Props) {
  const moments = times.map((time) => Date.parse(time));
  const [first = 0, last = 0] = [moments[0], moments.at(-1)];
  const x = (at: number) => (last === first ? WIDTH / 2 : (WIDTH * ((moments[at] ?? first) - first)) / (last - first));
  const y = (value: number) => HEIGHT - (HEIGHT * value) / top;
  return (
    <figure class="curve" data-curve={label}>
      <svg viewBox={`-6 -6 ${WIDTH + 12} ${HEIGHT + 12}`} role="img" aria-label={`${label}, as a curve`}>
        <path class="ground" d={`M0 ${HEIGHT}H${WIDTH}M0 0H${WIDTH}`} />
        {series.map(({ name, values }, at) => {
          const points = values.flatMap((value, when) => (value === undefined ? [] : [[x(when), y(value)] as const]));
          return (
            <g key={name} class={`curve-${at % STYLES}`}>
              <polyline points={points.map((point) => point.join()).join(" ")} />
              {points.map(([cx, cy]) => (
                <circle key={cx} cx={cx} cy={cy} r="4" />
              ))}
            </g>
          );
        })}
      </svg>
      <p class="ends quiet" aria-hidden="true">
        <span>{times[0]}</span> <span>top: {say(top)}</span> <span>{times.at(-1)}</span>
      </p>
      {series.length < 2 ? null : (
        <p class="keys quiet" aria-hidden="true">
          {series.map(({ name }, at) => (
            <span key={name} class={`curve-${at % STYLES}`}>
              <svg viewBox="0 0 24 8" width="24" height="8">
                <path d="M0 4H24" />
              </svg>{" "}
              {name}
            </span>
          ))}
        </p>
      )}
      <details open={!isFolded}>
        <summary>{label}, as a table</summary>
        <div class="table" tabIndex={0} role="region" aria-label={`${label}, as a table`}>
          <Table times={times} series={series} say={say} />
        </div>
      </details>
    </figure>
  );
}

function Table({ times, series, say }: Pick<Props, "times" | "series" | "say">) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">From</th>
          {series.map(({ name }) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {times.map((time, at) => (
          <tr key={time}>
            <th scope="row">{time}</th>
            {series.map(({ name, values }) => {
              const value = values[at];
              return <td key={name}>{value === undefined ? "–" : say(value)}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
