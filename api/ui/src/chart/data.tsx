// The chart in words: a sentence, and the visible stretch as a table.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import * as format from "../state/format.ts";
import { Throttle } from "./pace.ts";
import { placesOf } from "./range.ts";
import { axisNumber } from "./scale.ts";
import { tableRows } from "./scene.ts";
import type { TableRow } from "./scene.ts";
import type { Stage } from "./stage.ts";

const nothingYet = "Nothing to show yet.";
const mostRows = 200, summaryEvery = 3000, tableEvery = 1000;

/** Follows a value at a distance: what is read aloud or laid out anew must not change ten times a second. calm says when there is no need to wait, by what is shown. */
function useSlowly<T>(ms: number, read: () => T, calm: (shown: T) => boolean = () => false): { value: T } {
  const slow = useSignal(read());
  const value = useComputed(read);
  useEffect(() => {
    const throttle = new Throttle(ms, () => (slow.value = value.peek()));
    const end = value.subscribe(() => (calm(slow.peek()) ? throttle.now() : throttle.call()));
    return () => {
      end();
      throttle.cancel();
    };
  }, []);
  return slow;
}

export function Summary({ stage, id }: { stage: Stage; id: string }) {
  const text = useSlowly(summaryEvery, () => summaryOf(stage), (shown) => shown === nothingYet || !stage.subject.running.peek());
  return <p id={id} class="caption">{text.value}</p>;
}

function summaryOf(stage: Stage): string {
  const { subject: of } = stage, config = of.config.value, points = of.equity.value;
  if (!config || !points.length) return nothingYet;
  const unit = of.quote.value ? " " + of.quote.value : "";
  const price = stage.price.value;
  const worst = of.worst.value ?? points.reduce((most, p) => Math.max(most, p[3]), 0);
  const text = [
    price && `${of.symbol.value} ${config.timeframe}: last price ${format.exact(price)}${unit}`,
    `equity ${format.money(points.at(-1)![1], of.decimals.value)}${unit}`,
    `worst drawdown ${format.percent(worst)}`,
    of.fills.value !== null && `${format.count(of.fills.value)} fills${config.symbols.length > 1 ? " in all symbols" : ""}`,
  ].filter(Boolean).join(", ");
  const when = of.asOf.value && `as of ${of.asOf.value}: `;
  return (when + text).replace(/^./, (c) => c.toUpperCase()) + ".";
}

/** Says so when a line of the chart leaves points out. */
export function Thinned({ stage }: { stage: Stage }) {
  const { of } = stage.scene.value;
  return of > 0 && stage.withCandles.value ? <span class="caption">lines thinned from {format.count(of)} points; zoom in for all</span> : null;
}

export function DataTable({ stage }: { stage: Stage }) {
  const open = useSignal(false);
  return (
    <details class="chart-data" onToggle={(e) => (open.value = e.currentTarget.open)}>
      <summary>Data as a table</summary>
      {open.value && <Rows stage={stage} />}
    </details>
  );
}

function Rows({ stage }: { stage: Stage }) {
  const table = useSlowly(tableEvery, () => {
    const scene = stage.scene.value, view = stage.view.value;
    const places = view ? placesOf(scene.axis, view) : { from: 0, to: scene.axis.times.length };
    const rows = tableRows(scene, places.from, places.to, mostRows);
    const candles = scene.candles.length > 0;
    return { candles, rows, counted: candles && scene.counted, digits: scene.digits, merged: (rows[0]?.slots ?? 1) > 1 };
  });
  const { rows, candles, counted, digits, merged } = table.value;
  const unit = stage.subject.quote.value ? ", " + stage.subject.quote.value : "";
  return (
    <>
      <p class="caption">
        {format.count(rows.length)} rows of what is visible{merged ? `, each for several points of the chart: ${candles ? "first open, highest high, lowest low, last close, " : ""}last equity, worst drawdown` : ""}.
        {candles && !counted && " There are too many fills to count them row by row: zoom in."}
      </p>
      <div class="chart-rows" role="region" aria-label="Data of the chart" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Time, UTC</th>
              {[...(candles ? ["Open", "High", "Low", "Close"] : []), "Equity"].map((name) => <th key={name} scope="col" class="number">{name}{unit}</th>)}
              <th scope="col" class="number">Drawdown</th>
              {counted && <th scope="col" class="number">Fills</th>}
            </tr>
          </thead>
          <tbody>{rows.map((r) => <Row key={r.time} row={r} candles={candles} counted={counted} {...digits} />)}</tbody>
        </table>
      </div>
    </>
  );
}

function Row({ row, candles, counted, price, money }: { row: TableRow; candles: boolean; counted: boolean; price: number; money: number }) {
  const cell = (v: number | undefined, digits: number) => <td class="number">{v === undefined ? "–" : axisNumber(v, digits)}</td>;
  return (
    <tr>
      <th scope="row">{format.time(row.time)}</th>
      {candles && [1, 2, 3, 4].map((i) => cell(row.candle?.[i], price))}
      {cell(row.equity?.[1], money)}
      <td class="number">{row.equity ? format.signedPercent(-row.equity[3]) : "–"}</td>
      {counted && <td class="number">{format.count(row.fills)}</td>}
    </tr>
  );
}
