// Where values stand on a plot, and the round numbers of an axis.
export interface Scale {
  at: (value: number) => number;
  ticks: number[];
}

/** The least and greatest finite value; [0, 1] without any. */
export function extent(values: Iterable<number>): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return low > high ? [0, 1] : low === high ? [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2] : [low, high];
}

/** A linear scale from a range of values to a range of pixels, with about so many ticks. */
export function linear([low, high]: [number, number], [from, to]: [number, number], count = 5): Scale {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
  return { at: (v) => from + ((v - low) / (high - low)) * (to - from), ticks };
}

/** A logarithmic one; the values must be positive. */
export function logarithmic([low, high]: [number, number], pixels: [number, number]): Scale {
  const inner = linear([Math.log(low), Math.log(high)], pixels);
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const n of [1, 2, 5]) {
      const tick = Number((n * 10 ** power).toPrecision(3));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return { at: (v) => inner.at(Math.log(v)), ticks: ticks.length > 8 ? ticks.filter((t) => /^1/.test(t.toExponential())) : ticks };
}
