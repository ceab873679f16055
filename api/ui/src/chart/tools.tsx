// What can be chosen about the chart: symbol, published series, the visible stretch.
import { count } from "../state/format.ts";
import { Swatch } from "./legend.tsx";
import type { Drawing } from "./looks.ts";
import { choices, choose, options } from "./options.ts";
import type { Choice } from "./options.ts";
import { stretches } from "./range.ts";
import { shownAtFirst, zoomStep } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** One press moves by this much. */
export const panStep = 0.25;

export function Tools({ stage }: { stage: Stage }) {
  return (
    <div class="chart-tools">
      <SymbolPicker stage={stage} />
      <Merged stage={stage} />
      <LineSwitches stage={stage} />
      <Look stage={stage} />
      <div class="chart-move" role="group" aria-label="Stretch of time">
        {stretches.map((s) => <Stretch key={s} title={spoken[s]} act={() => stage.last(s)}>{s}</Stretch>)}
        <Move label="Show all" sign="All" act={() => stage.show(null)} />
        <Jump stage={stage} />
      </div>
      <div class="chart-move" role="group" aria-label="Visible time">
        <Move label="Earlier" sign="←" act={() => stage.pan(-panStep)} />
        <Move label="Later" sign="→" act={() => stage.pan(panStep)} />
        <Move label="Zoom in" sign="+" act={() => stage.zoom(zoomStep)} />
        <Move label="Zoom out" sign="−" act={() => stage.zoom(1 / zoomStep)} />
      </div>
    </div>
  );
}

const spoken = { "1M": "Last month", "3M": "Last three months", YTD: "Last calendar year so far", "1Y": "Last year" } as const;

function Jump({ stage }: { stage: Stage }) {
  const jump = (value: string) => {
    const time = Date.parse(value);
    if (Number.isFinite(time)) stage.jump(time);
  };
  return <input class="chart-date" type="date" aria-label="Go to date" title="Go to date" onChange={(e) => jump(e.currentTarget.value)} />;
}

/** What can be switched about the look, and what can be made of it. */
function Look({ stage }: { stage: Stage }) {
  const full = (e: Event) => {
    const section = (e.currentTarget as HTMLElement).closest(".chart");
    void (document.fullscreenElement ? document.exitFullscreen() : section?.requestFullscreen());
  };
  return (
    <details class="chart-look">
      <summary>Look</summary>
      <div role="group" aria-label="Look of the chart">
        {(Object.keys(choices) as Choice[]).map((name) => (
          <label key={name}><input type="checkbox" checked={options.value[name]} onChange={() => choose(name)} />{choices[name].label}</label>
        ))}
        <button type="button" onClick={() => stage.save()}>Save PNG</button>
        <button type="button" onClick={full}>Full screen</button>
      </div>
    </details>
  );
}

/** A button with a name of its own to read; the title explains it. */
function Stretch({ title, act, children }: { title: string; act: () => void; children: string }) {
  return <button type="button" class="quiet" title={title} onClick={act}>{children}</button>;
}

function Move({ label, sign, act }: { label: string; sign: string; act: () => void }) {
  return <button type="button" class="quiet" aria-label={label} title={label} onClick={act}>{sign}</button>;
}

function SymbolPicker({ stage: { subject } }: { stage: Stage }) {
  const symbols = subject.config.value?.symbols ?? [];
  if (symbols.length < 2) return <strong>{symbols[0] ?? ""} <span class="muted">{subject.config.value?.timeframe}</span></strong>;
  return (
    <select class="chart-symbol" aria-label="Symbol of the candles" value={subject.symbol.value} onChange={(e) => subject.choose(e.currentTarget.value)}>
      {symbols.map((s) => <option key={s}>{s}</option>)}
    </select>
  );
}

/** Says so when a candle of the chart is not one of the run. */
function Merged({ stage }: { stage: Stage }) {
  const { each, candles } = stage.scene.value;
  return each > 1 && candles.length > 0 ? <span class="caption">each candle = {count(each)} × {stage.subject.config.value?.timeframe}</span> : null;
}

/** The first ones are there at once, the others behind their number: the chart is not to be pushed away. */
function LineSwitches({ stage }: { stage: Stage }) {
  const drawings = [...stage.drawings.value];
  if (!drawings.length || !stage.withCandles.value) return null;
  const switches = drawings.map(([name, drawing]) => <LineSwitch key={name} stage={stage} name={name} drawing={drawing} />);
  const more = switches.splice(shownAtFirst);
  return (
    <div class="chart-lines" role="group" aria-label="Series of the strategy">
      {switches}
      {more.length > 0 && <details><summary>{more.length} more</summary><div>{more}</div></details>}
    </div>
  );
}

function LineSwitch({ stage, name, drawing }: { stage: Stage; name: string; drawing: Drawing }) {
  return (
    <button type="button" class="quiet" title={name} aria-pressed={stage.lines.value.includes(name)} onClick={() => stage.switch(name)}>
      <Swatch look={drawing.look} /> <bdi>{drawing.title}</bdi>
    </button>
  );
}
