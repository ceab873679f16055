// The frame of a plot: as wide as there is room, with axes; what is drawn inside is given
// the scales. A sentence says the same to those who do not see it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Scale } from "./scales.ts";

/** The width of an element in pixels, followed. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!ref.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return [ref, width];
}

export interface Inside {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface Props {
  /** What is seen, as a sentence. */
  label: string;
  height?: number;
  left?: number;
  children: (box: Inside) => ComponentChildren;
}

export function Frame({ label, height = 200, left = 64, children }: Props) {
  const [ref, width] = useWidth();
  return (
    <div class="plot" ref={ref}>
      {width > 0 && (
        <svg role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
          {children({ left: Math.min(left, width / 3), top: 8, right: width - 8, bottom: height - 22 })}
        </svg>
      )}
    </div>
  );
}

export function Rows({ scale, box, format }: { scale: Scale; box: Inside; format: (v: number) => string }) {
  return (
    <g class="axis">
      {scale.ticks.map((t) => (
        <g key={t}>
          <line x1={box.left} x2={box.right} y1={scale.at(t)} y2={scale.at(t)} />
          <text x={box.left - 4} y={scale.at(t) + 4} text-anchor="end">{format(t)}</text>
        </g>
      ))}
    </g>
  );
}

/** Labels below the plot: as many as there is room for. */
export function Below({ at, box }: { at: { x: number; words: string }[]; box: Inside }) {
  return (
    <g class="axis">
      {at.map(({ x, words }, i) => (
        <text key={i} x={x} y={box.bottom + 16} text-anchor={i === 0 ? "start" : i === at.length - 1 ? "end" : "middle"}>{words}</text>
      ))}
    </g>
  );
}

/** Dates below a plot of time. */
export function Dates({ from, to, box }: { from: number; to: number; box: Inside }) {
  const n = Math.max(2, Math.min(6, Math.floor((box.right - box.left) / 110)));
  const long = to - from > 3 * 86_400_000;
  const at = Array.from({ length: n }, (_, i) => {
    const share = i / (n - 1), when = new Date(from + share * (to - from)).toISOString();
    return { x: box.left + share * (box.right - box.left), words: long ? when.slice(0, 10) : when.slice(5, 16).replace("T", " ") };
  });
  return <Below at={at} box={box} />;
}
