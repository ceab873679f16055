// Counts in bins, with marks at values.
import { Below, Frame, Rows } from "./frame.tsx";
import { extent, linear } from "./scales.ts";

export interface Bin {
  from: number;
  to: number;
  count: number;
}

interface Props {
  label: string;
  bins: Bin[];
  marks: { at: number; words: string; color: number }[];
  format: (value: number) => string;
}

export function Bars({ label, bins, marks, format }: Props) {
  const range = extent([...bins.flatMap((b) => [b.from, b.to]), ...marks.map((m) => m.at)]);
  return (
    <figure class="figure">
      <Frame label={label}>
        {(box) => {
          const x = linear(range, [box.left, box.right]), y = linear([0, Math.max(1, ...bins.map((b) => b.count))], [box.bottom, box.top]);
          return (
            <>
              <Rows scale={y} box={box} format={(v) => (Number.isInteger(v) ? String(v) : "")} />
              {bins.map((b) => <rect key={b.from} class="bar" x={x.at(b.from)} width={Math.max(1, x.at(b.to) - x.at(b.from) - 1)} y={y.at(b.count)} height={box.bottom - y.at(b.count)} />)}
              {marks.map((m) => <line key={m.words} class={`curve c${m.color}`} x1={x.at(m.at)} x2={x.at(m.at)} y1={box.top} y2={box.bottom} />)}
              <Below at={x.ticks.map((t) => ({ x: x.at(t), words: format(t) }))} box={box} />
            </>
          );
        }}
      </Frame>
      <figcaption class="legend">{marks.map((m) => <span key={m.words}><i class={`c${m.color}`} aria-hidden="true" />{m.words}</span>)}</figcaption>
    </figure>
  );
}

/** Equal bins of values. */
export function binned(values: number[], count = 20): Bin[] {
  if (values.length === 0) return [];
  const [low, high] = extent(values), width = (high - low) / count;
  const bins = Array.from({ length: count }, (_, i) => ({ from: low + i * width, to: low + (i + 1) * width, count: 0 }));
  for (const v of values) {
    const bin = bins[Math.min(count - 1, Math.floor((v - low) / width))];
    if (bin) bin.count++;
  }
  return bins;
}
