// The colours of the page as the canvas needs them. A probe element resolves the tokens,
// so that system colours of forced-colours mode arrive as plain rgb too.
const tokens = ["panel", "text", "muted", "line", "grid", "accent", "up", "down", "warn", "edge"] as const;

export type Palette = Record<(typeof tokens)[number], string>;

export function paletteOf(probe: HTMLElement): Palette {
  const out = {} as Palette;
  for (const token of tokens) {
    probe.style.color = `var(--chart-${token})`;
    out[token] = getComputedStyle(probe).color;
  }
  probe.style.color = "";
  return out;
}

/** A resolved colour, translucent. */
export function faded(color: string, alpha: number): string {
  const [r, g, b] = color.match(/[\d.]+/g) ?? [];
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}
