// Curves over time, linear or logarithmic.
import { Dates, Frame, Rows } from "./frame.tsx";
import { extent, linear, logarithmic } from "./scales.ts";

export interface Series {
  name: string;
  /** [ms, value], in the order of time. */
  points: readonly (readonly [number, number])[];
  /** Its place in the palette, 0 to 7; the last is thin and grey. */
  color: number;
}

interface Props {
  label: string;
  series: Series[];
  log?: boolean;
  height?: number;
  format: (value: number) => string;
  /** Fills from this value to the curve. */
  fill?: number;
}

export function Curves({ label, series, log = false, height, format, fill }: Props) {
  const drawn = series.map((s) => ({ ...s, points: log ? s.points.filter(([, v]) => v > 0) : s.points })).filter((s) => s.points.length > 0);
  if (drawn.length === 0) return <p class="none">There is nothing to draw.</p>;
  const [from, to] = extent(drawn.flatMap((s) => s.points.map(([t]) => t)));
  const values = extent(drawn.flatMap((s) => s.points.map(([, v]) => v)));
  return (
    <figure class="figure">
      <Frame label={label} height={height}>
        {(box) => {
          const x = linear([from, to], [box.left, box.right]), y = (log ? logarithmic : linear)(values, [box.bottom, box.top]);
          const path = (s: Series) => "M" + s.points.map(([t, v]) => `${x.at(t).toFixed(1)} ${y.at(v).toFixed(1)}`).join("L");
          return (
            <>
              <Rows scale={y} box={box} format={format} />
              <Dates from={from} to={to} box={box} />
              {drawn.map((s) => (
                <g key={s.name}>
                  {fill !== undefined && <path class={`area c${s.color}`} d={`${path(s)}L${box.right} ${y.at(fill)}L${box.left} ${y.at(fill)}Z`} />}
                  <path class={`curve c${s.color}`} d={path(s)} />
                </g>
              ))}
            </>
          );
        }}
      </Frame>
      {drawn.length > 1 && <figcaption class="legend">{drawn.map((s) => <span key={s.name}><i class={`c${s.color}`} aria-hidden="true" /><bdi>{s.name}</bdi></span>)}</figcaption>}
    </figure>
  );
}
