// Parallel coordinates: an upright axis for each parameter and one for the result, a line
// for each trial, shaded by its result.
import { Frame } from "./frame.tsx";
import { extent, linear } from "./scales.ts";

export interface Coordinates {
  names: string[];
  /** One list of numbers for each trial, in the order of the names; the last decides the shade. */
  rows: number[][];
}

export function Parallel({ label, of: { names, rows } }: { label: string; of: Coordinates }) {
  const last = names.length - 1;
  return (
    <Frame label={label} height={240} left={24}>
      {(box) => {
        const x = linear([0, Math.max(1, last)], [box.left + 16, box.right - 32]);
        const ys = names.map((_, i) => linear(extent(rows.map((r) => r[i] ?? NaN)), [box.bottom, box.top + 16]));
        const [low, high] = extent(rows.map((r) => r[last] ?? NaN));
        const sorted = [...rows].sort((a, b) => (a[last] ?? 0) - (b[last] ?? 0));
        return (
          <>
            {sorted.map((row, n) => (
              <path key={n} class={`curve thin h${Math.round((((row[last] ?? low) - low) / (high - low)) * 8)}`}
                d={"M" + row.map((v, i) => `${x.at(i).toFixed(1)} ${(ys[i]?.at(v) ?? 0).toFixed(1)}`).join("L")} />
            ))}
            <g class="axis">
              {names.map((name, i) => (
                <g key={name}>
                  <line class="upright" x1={x.at(i)} x2={x.at(i)} y1={box.top + 16} y2={box.bottom} />
                  <text x={x.at(i)} y={box.top + 8} text-anchor="middle">{name.length > 16 ? name.slice(0, 15) + "…" : name}</text>
                  {ys[i]?.ticks.map((t) => <text key={t} x={x.at(i) + 4} y={(ys[i]?.at(t) ?? 0) + 4}>{String(t)}</text>)}
                </g>
              ))}
            </g>
          </>
        );
      }}
    </Frame>
  );
}
