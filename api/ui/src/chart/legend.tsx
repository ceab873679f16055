// The line at the top of each pane: the values under the crosshair, else at the selected
// moment, else the last that are visible.
import { useComputed } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import * as format from "../state/format.ts";
import { slotOf } from "./align.ts";
import type { Mark } from "./align.ts";
import type { Stage } from "./stage.ts";
import { options } from "./options.ts";
import { axisNumber, valueDigits } from "./scale.ts";
import type { LineLook } from "./scale.ts";
import { readingAt, seenAt } from "./scene.ts";
import type { Reading, Scene } from "./scene.ts";

export function Legends({ stage }: { stage: Stage }) {
  const reading = useComputed(() => (stage.pointed.value !== null && readingAt(stage.scene.value, stage.pointed.value)) || seenAt(stage.scene.value, restingSlot(stage)));
  const tops = stage.tops.value;
  const own = stage.panes.value.map((pane) => (props: PaneProps) => <OwnPane {...props} pane={pane} />);
  const panes = stage.withCandles.value ? [PricePane, ...own, EquityPane, DrawdownPane] : [EquityPane, DrawdownPane];
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
  const scene = stage.scene.value, view = stage.view.value, chosen = stage.subject.selection.value;
  const last = view ? Math.min(scene.reach.slot, slotOf(scene.axis, view.to - 1)) : scene.reach.slot;
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
  swatch?: LineLook;
  /** Left out where there is little room. */
  extra?: boolean;
}

function Item({ name, value, tone, swatch, extra }: ItemProps) {
  return (
    <span class={extra ? "chart-extra" : undefined}>
      {swatch && <Swatch look={swatch} />} <bdi class="muted">{name}</bdi> <span class={tone}>{value}</span>
    </span>
  );
}

function PricePane({ stage, reading }: PaneProps) {
  const now = reading.value, scene = stage.scene.value;
  if (!now?.candle) return null;
  const [begin, open, high, low, close] = now.candle;
  const text = (v: number) => axisNumber(v, scene.digits.price);
  return (
    <>
      <strong class="chart-extra">{stage.subject.symbol}</strong>
      <span class="muted">{format.time(begin)} UTC</span>
      {now.ahead && <span class="muted">not reached yet</span>}
      <Item name="O" value={text(open)} extra />
      <Item name="H" value={text(high)} extra />
      <Item name="L" value={text(low)} extra />
      <Item name="C" value={text(close)} tone={format.tone(close - open)} />
      <Item name="" value={format.signedPercent(close / open - 1)} tone={format.tone(close - open)} />
      {now.mark && <span class="chart-fills">{fillText(now.mark, scene)}</span>}
      {stage.subject.levels.value.map((l) => <Item key={l.title} name={l.title} value={text(l.price)} />)}
      <Series stage={stage} now={now} pane="" />
    </>
  );
}

function OwnPane({ stage, reading, pane }: PaneProps & { pane: string }) {
  return <><strong class="chart-extra">{pane}</strong>{reading.value && <Series stage={stage} now={reading.value} pane={pane} />}</>;
}

/** The published series of a pane. */
function Series({ stage, now, pane }: { stage: Stage; now: Reading; pane: string }) {
  const { lines, digits } = stage.scene.value;
  return (
    <>
      {stage.lines.value.map((name) => {
        const { title, upper, look, pane: own, declared } = stage.drawings.value.get(name)!, value = now.lines.get(name), edge = now.lines.get(upper);
        if (own !== pane || value === undefined) return null;
        const places = declared && !pane ? digits.price : valueDigits((lines.get(name) ?? []).map((p) => p[1]));
        const text = [value, edge].filter((v) => v !== undefined).map((v) => axisNumber(v, places)).join(" – ");
        return <Item key={name} swatch={look} name={title} value={text} extra={!pane} />;
      })}
    </>
  );
}

/** Fills of a slot, or of the several slots that share a marker. */
function fillText({ slot, last, buys, sells, ambiguous }: Mark, { axis }: Scene): string {
  const many = (n: number, sign: string, word: string) => (n ? `${sign} ${format.count(n)} ${word}${n === 1 ? "" : "s"}` : "");
  const parts = [many(buys, "▲", "buy"), many(sells, "▼", "sell"), ambiguous && `${format.count(ambiguous)} ambiguous`].filter(Boolean).join(", ");
  return last === slot ? parts : `${parts} from ${format.time(axis.times[slot])} to ${format.time(axis.times[last + 1] ?? axis.end)}`;
}

const equityLook: LineLook = { token: "accent", style: 0, width: 1 }, cashLook: LineLook = { token: "muted", style: 0, width: 1 }, holdingLook: LineLook = { token: "warn", style: 2, width: 1 };

function EquityPane({ stage, reading }: PaneProps) {
  const now = reading.value?.equity;
  const money = (v: number | undefined) => (v === undefined ? "–" : axisNumber(v, stage.scene.value.digits.money));
  return (
    <>
      <Item swatch={equityLook} name="Equity" value={money(now?.[1])} />
      {options.value.cash && <Item swatch={cashLook} name="Cash" value={money(now?.[2])} />}
      {options.value.holding && stage.withCandles.value && stage.subject.symbol.value === stage.subject.config.value?.symbols[0] && <Item swatch={holdingLook} name="Holding, no fees" value="" extra />}
      <span class="muted chart-extra">{stage.subject.quote}</span>
    </>
  );
}

function DrawdownPane({ reading }: PaneProps) {
  const now = reading.value?.equity;
  return <Item name="Drawdown" value={now ? format.signedPercent(-now[3]) : "–"} tone={now && now[3] > 0 ? "down" : ""} />;
}

/** As the library draws its line styles. */
const dashes = ["", "2 2", "4 4", "7 4", "2 5"];

/** How a line looks, beside its name. */
export function Swatch({ look }: { look: LineLook }) {
  return (
    <svg class={`chart-swatch ${look.token}`} width="18" height="8" viewBox="0 0 18 8" aria-hidden="true">
      <line x1="0" y1="4" x2="18" y2="4" stroke-width={2 * look.width} stroke-dasharray={dashes[look.style]} />
    </svg>
  );
}
