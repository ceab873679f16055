// What can be chosen about the chart: symbol, published series, the visible stretch.
import { count } from "../state/format.ts";
import * as store from "../state/store.ts";
import { symbol as chosenSymbol } from "../state/view.ts";
import { Swatch } from "./legend.tsx";
import { lookOf } from "./scale.ts";
import { shownAtFirst, symbol } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** One press moves or zooms by this much. */
export const panStep = 0.25, zoomStep = 0.5;

export function Tools({ stage }: { stage: Stage }) {
  return (
    <div class="chart-tools">
      <SymbolPicker />
      <Merged stage={stage} />
      <LineSwitches stage={stage} />
      <div class="chart-move" role="group" aria-label="Visible time">
        <Move label="Earlier" sign="←" act={() => stage.pan(-panStep)} />
        <Move label="Later" sign="→" act={() => stage.pan(panStep)} />
        <Move label="Zoom in" sign="+" act={() => stage.zoom(zoomStep)} />
        <Move label="Zoom out" sign="−" act={() => stage.zoom(1 / zoomStep)} />
        <Move label="Show all" sign="All" act={() => stage.show(null)} />
      </div>
    </div>
  );
}

function Move({ label, sign, act }: { label: string; sign: string; act: () => void }) {
  return <button type="button" class="quiet" aria-label={label} title={label} onClick={act}>{sign}</button>;
}

function SymbolPicker() {
  const symbols = store.config.value?.symbols ?? [];
  if (symbols.length < 2) return <strong>{symbols[0] ?? ""} <span class="muted">{store.config.value?.timeframe}</span></strong>;
  return (
    <select class="chart-symbol" aria-label="Symbol of the candles" value={symbol.value} onChange={(e) => (chosenSymbol.value = e.currentTarget.value)}>
      {symbols.map((s) => <option key={s}>{s}</option>)}
    </select>
  );
}

/** Says so when a candle of the chart is not one of the run. */
function Merged({ stage }: { stage: Stage }) {
  const { each, candles } = stage.scene.value;
  return each > 1 && candles.length > 0 ? <span class="caption">each candle = {count(each)} × {store.config.value?.timeframe}</span> : null;
}

/** The first ones are there at once, the others behind their number: the chart is not to be pushed away. */
function LineSwitches({ stage }: { stage: Stage }) {
  const names = store.annotations.value;
  if (!names.length || !stage.withCandles.value) return null;
  const switches = names.map((name, i) => <LineSwitch key={name} stage={stage} name={name} order={i} />);
  const more = switches.splice(shownAtFirst);
  return (
    <div class="chart-lines" role="group" aria-label="Series of the strategy">
      {switches}
      {more.length > 0 && <details><summary>{more.length} more</summary><div>{more}</div></details>}
      <Thinned stage={stage} />
    </div>
  );
}

/** Says so when a line of the chart leaves points out. */
function Thinned({ stage }: { stage: Stage }) {
  const { of } = stage.scene.value;
  return of > 0 ? <span class="caption">thinned from {count(of)} points; zoom in for all</span> : null;
}

function LineSwitch({ stage, name, order }: { stage: Stage; name: string; order: number }) {
  return (
    <button type="button" class="quiet" title={name} aria-pressed={stage.lines.value.includes(name)} onClick={() => stage.switch(name)}>
      <Swatch look={lookOf(order)} /> <bdi>{name}</bdi>
    </button>
  );
}
