// The candles of an ended run, and what its strategy published, drawn as it declares.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { CandleTuple, LineTuple, Trade } from "../../api/types.ts";
import { Dates, Frame, Rows, type Inside } from "../../plot/frame.tsx";
import { extent, linear, type Scale } from "../../plot/scales.ts";
import { count, exact, signedPercent, time, words } from "../../state/format.ts";
import { fragment, keep } from "../../state/route.ts";
import { useAnswer } from "../answer.ts";
import { Section, States } from "../kit.tsx";
import type { Run } from "../shapes.ts";
import { chartOf, panesOf, pieces, stepOf, type Chart, type Line, type Pane } from "./panes.ts";

/** The palette's place of a colour by its role. */
const colors: Record<string, number> = { accent: 0, down: 1, warn: 2, up: 4, muted: 7, text: 8 };
/** Of the chart library's line styles. */
const dashes = ["", "1.5 3", "6 4", "10 5", "1.5 8"];

/** A day of the address, "" for what is none. */
const day = (text: string | null) => (/^\d{4}-\d\d-\d\d$/.test(text ?? "") ? text ?? "" : "");

export function Charted({ run, path }: { run: Run; path: string }) {
  const symbols = run.symbols ?? [], symbol = useSignal(symbols[0] ?? "");
  const from = day(fragment.value.get("from")), to = day(fragment.value.get("to"));
  const asked = useAnswer<Chart>(path, 0, useMemo(() => chartOf(run, symbol.value, { from, to }), [run.run_id, symbol.value, from, to]));
  return (
    <Section name="Chart" aside={(
      <div class="toolbar">
        {symbols.length > 1 && <label>Symbol <select value={symbol.value} onChange={(e) => (symbol.value = e.currentTarget.value)}>{symbols.map((s) => <option key={s}>{s}</option>)}</select></label>}
        <label>From <input type="date" value={from} onChange={(e) => keep({ from: e.currentTarget.value })} /></label>
        <label>To <input type="date" value={to} onChange={(e) => keep({ to: e.currentTarget.value })} /></label>
        {(from || to) && <button type="button" onClick={() => keep({ from: "", to: "" })}>All</button>}
      </div>
    )}>
      <States of={asked} what="chart" empty={({ candles }) => candles.points.length === 0 && <p>The run has no candles {from || to ? "on these days" : ""}.</p>}>
        {(chart) => <Panes chart={chart} params={run.params ?? {}} several={symbols.length > 1} />}
      </States>
    </Section>
  );
}

function Panes({ chart, params, several }: { chart: Chart; params: Record<string, unknown>; several: boolean }) {
  const { candles, published, lines, common } = chart, panes = panesOf(chart, params), step = stepOf(candles.points);
  const times = [...candles.points.map((c) => c[0]!), candles.points.at(-1)![0]! + step, ...[...lines.values()].flatMap((l) => [l[0], l.at(-1)]).flatMap((p) => (p ? [p[0]] : []))];
  const range = extent(times), held = chart.trades.items.filter((t) => Date.parse(t.exit_time) >= range[0] && Date.parse(t.entry_time) <= range[1]);
  return (
    <>
      <p class="caption">{caption(chart)}{chart.trades.next_cursor && ` Of the trades, the first ${count(chart.trades.items.length)} are drawn.`}</p>
      {panes.map((pane) => (
        <figure key={pane.name} class="figure" data-pane={pane.name}>
          <Frame label={label(pane, chart)} height={pane.name ? 120 : 320}>
            {(box) => <Drawn pane={pane} candles={pane.name ? [] : candles.points as CandleTuple[]} trades={pane.name ? [] : held} step={step} range={range} box={box} />}
          </Frame>
          <figcaption class="legend">
            {pane.name && <strong><bdi>{pane.name}</bdi></strong>}
            {pane.lines.map((l) => <span key={l.name} data-series={l.name}><Swatch line={l} /><bdi>{l.title}</bdi>{several && common.has(l.name) && " (of the run)"}{!l.shared && " (own scale)"}</span>)}
          </figcaption>
        </figure>
      ))}
      {published.left_out > 0 && <p class="caption">The run had no room for {count(published.left_out)} points.</p>}
    </>
  );
}

/** What is drawn, and what is left out of it. */
function caption({ candles, published, lines, thinned }: Chart): string {
  const joined = candles.points.length < candles.of ? `${count(candles.of)} candles joined to ${count(candles.points.length)}` : `${count(candles.of)} candles`;
  const series = published.total === 0 ? "The strategy has published nothing." : lines.size < published.total ? `${count(lines.size)} of ${count(published.total)} series are drawn.` : "";
  return [`${words(published.split)}: ${joined} of ${candles.symbol}.`, series, thinned && "Series are thinned."].filter(Boolean).join(" ");
}

function label({ name, lines, range }: Pane, { candles }: Chart): string {
  const what = lines.map((l) => l.title).join(", ");
  return name ? `${name}: ${what}` : `Candles of ${candles.symbol} between ${exact(range[0])} and ${exact(range[1])}${what && `, with ${what}`}`;
}

const lineClass = ({ look }: Line) => (look.width > 1 ? "curve wide" : "curve");

const Swatch = ({ line }: { line: Line }) => <svg class={`c${colors[line.look.token]}`} width="20" height="8" aria-hidden="true"><path class={lineClass(line)} d="M0 4H20" stroke-dasharray={dashes[line.look.style]} /></svg>;

interface Inner {
  pane: Pane;
  candles: CandleTuple[];
  trades: Trade[];
  step: number;
  range: [number, number];
  box: Inside;
}

function Drawn({ pane, candles, trades, step, range, box }: Inner) {
  const x = linear(range, [box.left, box.right]), y = linear(pane.range, [box.bottom, box.top], pane.name ? 3 : 5);
  return (
    <>
      <Rows scale={y} box={box} format={exact} />
      <Dates from={range[0]} to={range[1]} box={box} />
      <path class="candle c4" d={bodies(candles.filter((c) => c[4] >= c[1]), x, y, step)} />
      <path class="candle c1" d={bodies(candles.filter((c) => c[4] < c[1]), x, y, step)} />
      {trades.map((t) => <Held key={t.trade_id} trade={t} x={x} y={y} box={box} />)}
      {pane.lines.map((l) => <Published key={l.name} line={l} x={x} y={l.shared ? y : linear(extent(l.points.map((p) => p[1])), [box.bottom, box.top])} step={step} box={box} />)}
    </>
  );
}

/** A trade: a line from its entry to its exit, which the pointer explains. */
function Held({ trade: t, x, y, box }: { trade: Trade; x: Scale; y: Scale; box: Inside }) {
  const inside = (at: number) => Math.min(box.right, Math.max(box.left, at));
  const [left, right] = [inside(x.at(Date.parse(t.entry_time))), inside(x.at(Date.parse(t.exit_time)))];
  return (
    <g class={t.pnl < 0 ? "c1" : "c4"} data-trade={t.trade_id}>
      <title>{`${t.direction}, ${time(t.entry_time)} at ${exact(t.entry_price)} to ${time(t.exit_time)} at ${exact(t.exit_price)}: ${signedPercent(t.return)}`}</title>
      <rect class="holding" x={left} width={Math.max(1, right - left)} y={box.top} height={box.bottom - box.top} />
      <path class="curve wide" d={`M${left.toFixed(1)} ${y.at(t.entry_price).toFixed(1)}L${right.toFixed(1)} ${y.at(t.exit_price).toFixed(1)}`} />
    </g>
  );
}

/** Wicks and bodies as one path. */
function bodies(candles: CandleTuple[], x: Scale, y: Scale, step: number): string {
  const half = Math.max(0.5, (x.at(step) - x.at(0)) * 0.3);
  return candles.map(([ms, open, high, low, close]) => {
    const at = x.at(ms + step / 2), [left, right] = [(at - half).toFixed(1), (at + half).toFixed(1)], [from, to] = [y.at(open).toFixed(1), y.at(close).toFixed(1)];
    return `M${at.toFixed(1)} ${y.at(high).toFixed(1)}V${y.at(low).toFixed(1)}M${left} ${from}H${right}V${to}H${left}Z`;
  }).join("");
}

function Published({ line, x, y, step, box }: { line: Line; x: Scale; y: Scale; step: number; box: Inside }) {
  const spot = (p: LineTuple) => `${x.at(p[0]).toFixed(1)} ${y.at(p[1]).toFixed(1)}`;
  const along = (points: LineTuple[]) => pieces(points, step).map((piece) => "M" + piece.map(spot).join("L") + (piece.length === 1 ? "h1" : "")).join("");
  const { kind, points, edge, look, levels } = line;
  return (
    <g class={`c${colors[look.token]}`} data-kind={kind}>
      {kind === "band" && edge.length > 0 && <path class="area" d={`M${[...points, ...edge.toReversed()].map(spot).join("L")}Z`} />}
      {kind === "histogram" ? <path class="curve" d={points.map((p) => `M${spot(p)}V${y.at(0).toFixed(1)}`).join("")} />
        : kind === "marker" ? <path class="curve dots" d={points.map((p) => `M${spot(p)}h0`).join("")} />
        : <path class={lineClass(line)} d={along(points) + along(edge)} stroke-dasharray={dashes[look.style]} />}
      {levels.map((l) => (
        <g key={l.title + l.value} class="axis">
          <line class="upright" x1={box.left} x2={box.right} y1={y.at(l.value)} y2={y.at(l.value)} stroke-dasharray="6 4" />
          <text x={box.right} y={y.at(l.value) - 3} text-anchor="end">{l.title}</text>
        </g>
      ))}
    </g>
  );
}
