// What can be chosen about the chart: symbol, published series, the visible stretch.
import * as store from "../state/store.ts";
import { symbol as chosenSymbol } from "../state/view.ts";
import { Swatch } from "./legend.tsx";
import { lookOf } from "./scale.ts";
import { symbol } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** One press moves or zooms by this much. */
export const panStep = 0.25, zoomStep = 0.5;

export function Tools({ stage }: { stage: Stage }) {
  return (
    <div class="chart-tools">
      <SymbolPicker />
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

function LineSwitches({ stage }: { stage: Stage }) {
  const names = store.annotations.value;
  if (!names.length || !stage.withCandles.value) return null;
  return (
    <div class="chart-lines" role="group" aria-label="Series of the strategy">
      {names.map((name, i) => {
        const look = lookOf(i);
        return (
          <button key={name} type="button" class="quiet" aria-pressed={stage.lines.value.includes(name)} onClick={() => stage.switch(name)}>
            <Swatch token={look.token} style={look.style} /> {name}
          </button>
        );
      })}
    </div>
  );
}
