// A value for each pair of two parameters: the shade is its rank from worst to best, the
// number stands in the cell.
import { Frame } from "./frame.tsx";
import { extent } from "./scales.ts";

export interface Cell {
  x: string;
  y: string;
  value: number;
}

/** Orders texts that are numbers as numbers. */
const order = (a: string, b: string) => Number(a) - Number(b) || (a < b ? -1 : a > b ? 1 : 0);
const distinct = (list: string[]) => [...new Set(list)].sort(order);

export function Heat({ label, cells, format }: { label: string; cells: Cell[]; format: (value: number) => string }) {
  const xs = distinct(cells.map((c) => c.x)), ys = distinct(cells.map((c) => c.y)).reverse();
  const [low, high] = extent(cells.map((c) => c.value));
  return (
    <Frame label={label} height={Math.min(640, Math.max(80, ys.length * 28 + 34))}>
      {(box) => {
        const w = (box.right - box.left) / Math.max(1, xs.length), h = (box.bottom - box.top) / Math.max(1, ys.length);
        const every = Math.ceil(48 / w);
        return (
          <>
            {cells.map((c) => {
              const i = xs.indexOf(c.x), j = ys.indexOf(c.y), level = Math.round(((c.value - low) / (high - low)) * 8);
              return (
                <g key={c.x + "\0" + c.y}>
                  <rect class={`heat h${level}`} x={box.left + i * w} y={box.top + j * h} width={Math.max(1, w - 1)} height={Math.max(1, h - 1)} />
                  {w > 40 && h > 16 && <text class={`heat-value h${level}`} x={box.left + (i + 0.5) * w} y={box.top + (j + 0.5) * h + 4} text-anchor="middle">{format(c.value)}</text>}
                </g>
              );
            })}
            <g class="axis">
              {ys.map((y, j) => <text key={y} x={box.left - 4} y={box.top + (j + 0.5) * h + 4} text-anchor="end">{y}</text>)}
              {xs.map((x, i) => i % every === 0 && <text key={x} x={box.left + (i + 0.5) * w} y={box.bottom + 16} text-anchor="middle">{x}</text>)}
            </g>
          </>
        );
      }}
    </Frame>
  );
}
