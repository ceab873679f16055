// The line at the top of each pane: the values under the crosshair, else at the selected
// moment, else the last that are visible.
import { useComputed } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import * as format from "../state/format.ts";
import { quote, selection } from "../state/store.ts";
import { slotOf } from "./align.ts";
import { levels, symbol } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { axisNumber, moneyDigits, priceDigits } from "./scale.ts";
import { newestSlot, readingAt } from "./scene.ts";
import type { Reading } from "./scene.ts";

export function Legends({ stage }: { stage: Stage }) {
  const reading = useComputed(() => readingAt(stage.scene.value, stage.pointed.value ?? restingSlot(stage)) ?? readingAt(stage.scene.value, restingSlot(stage)));
  const tops = stage.tops.value;
  const panes = stage.withCandles.value ? [PricePane, EquityPane, DrawdownPane] : [EquityPane, DrawdownPane];
  if (!reading.value) return null;
  return (
    <>
      {panes.map((Pane, i) => tops[i] !== undefined && (
        <p key={i} class="chart-legend" style={{ top: `${tops[i]}px` }}>
          <Pane stage={stage} reading={reading} />
        </p>
      ))}
    </>
  );
}

function restingSlot(stage: Stage): number {
  const scene = stage.scene.value, view = stage.view.value, chosen = selection.value;
  const last = view ? Math.min(newestSlot(scene), slotOf(scene.axis, view.to - 1)) : newestSlot(scene);
  const slot = chosen ? slotOf(scene.axis, chosen.time) : last;
  return slot <= last && slot >= (view ? slotOf(scene.axis, view.from) : 0) ? slot : last;
}

interface PaneProps {
  stage: Stage;
  reading: ReadonlySignal<Reading | null>;
}

interface ItemProps {
  name: string;
  value: string;
  tone?: string;
  swatch?: string;
  /** Left out where there is little room. */
  extra?: boolean;
}

function Item({ name, value, tone, swatch, extra }: ItemProps) {
  return (
    <span class={extra ? "chart-extra" : undefined}>
      {swatch && <Swatch token={swatch} />} <span class="muted">{name}</span> <span class={tone}>{value}</span>
    </span>
  );
}

function PricePane({ stage, reading }: PaneProps) {
  const digits = useComputed(() => priceDigits(stage.scene.value.candles));
  const now = reading.value;
  if (!now?.candle) return null;
  const [, open, high, low, close] = now.candle;
  const text = (v: number) => axisNumber(v, digits.value);
  return (
    <>
      <strong class="chart-extra">{symbol}</strong>
      <span class="muted">{format.time(now.time)} UTC</span>
      <Item name="O" value={text(open)} extra />
      <Item name="H" value={text(high)} extra />
      <Item name="L" value={text(low)} extra />
      <Item name="C" value={text(close)} tone={format.tone(close - open)} />
      <Item name="" value={format.signedPercent(close / open - 1)} tone={format.tone(close - open)} />
      {now.mark && <span>{fillText(now.mark)}</span>}
      {stage.lines.value.map((name) => now.lines.has(name) && <Item key={name} name={name} value={text(now.lines.get(name)!)} extra />)}
      {levels.value.map((l) => <Item key={l.title} name={l.title} value={text(l.price)} />)}
    </>
  );
}

function fillText(m: { buys: number; sells: number; ambiguous: number }): string {
  const parts = [m.buys && `▲ ${format.count(m.buys)} bought`, m.sells && `▼ ${format.count(m.sells)} sold`, m.ambiguous && `${format.count(m.ambiguous)} ambiguous`];
  return parts.filter(Boolean).join(", ");
}

function EquityPane({ stage, reading }: PaneProps) {
  const digits = useComputed(() => moneyDigits(stage.scene.value.equity.map((p) => p[1])));
  const now = reading.value?.equity;
  const money = (v: number | undefined) => (v === undefined ? "–" : axisNumber(v, digits.value));
  return (
    <>
      <Item swatch="accent" name="Equity" value={money(now?.[1])} />
      <Item swatch="muted" name="Cash" value={money(now?.[2])} />
      <span class="muted chart-extra">{quote}</span>
    </>
  );
}

function DrawdownPane({ reading }: PaneProps) {
  const now = reading.value?.equity;
  return <Item name="Drawdown" value={now ? format.signedPercent(-now[3]) : "–"} tone={now && now[3] > 0 ? "down" : ""} />;
}

const dashes = ["", "1 2", "4 3"];

/** How a line looks, beside its name. */
export function Swatch({ token, style = 0 }: { token: string; style?: number }) {
  return (
    <svg class={`chart-swatch ${token}`} width="16" height="8" viewBox="0 0 16 8" aria-hidden="true">
      <line x1="0" y1="4" x2="16" y2="4" stroke-width="2" stroke-dasharray={dashes[style]} />
    </svg>
  );
}
