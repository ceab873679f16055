// The chart of the run: candles with fills, equity with cash, drawdown, on one time axis.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { DataTable, Summary, Thinned } from "./data.tsx";
import { unreachable } from "./library.ts";
import { Legends } from "./legend.tsx";
import { digestOf } from "./scene.ts";
import { Stage, zoomStep } from "./stage.ts";
import { runner, type Subject } from "./subject.ts";
import { Tools, panStep } from "./tools.tsx";

/** The chart of a run; its heading is as deep as where it stands. */
export function Chart({ of = runner, deep: Title = "h2" }: { of?: Subject; deep?: "h2" | "h3" }) {
  const stage = useMemo(() => new Stage(of), [of]);
  const canvas = useRef<HTMLDivElement>(null), probe = useRef<HTMLSpanElement>(null), group = useRef<HTMLElement>(null);
  useEffect(() => stage.mount(canvas.current!, probe.current!), [stage]);
  useSignalEffect(() => describe(group.current, stage));
  const name = of.symbol.value ? `Chart of ${of.symbol.value}, ${of.config.value?.timeframe ?? ""}` : "Chart";
  return (
    <section
      class="panel chart" ref={group} role="group" tabIndex={0} aria-label={name} aria-describedby="chart-summary chart-keys"
      onKeyDown={(e) => onKey(e, stage)}
    >
      <Title class="unseen">{name}</Title>
      <Tools stage={stage} />
      <Notes stage={stage} />
      <div class={!stage.withCandles.value ? "chart-plot short" : stage.panes.value.length ? "chart-plot tall" : "chart-plot"}>
        <div class="chart-canvas" ref={canvas} aria-hidden="true" onDblClick={() => stage.show(null)} />
        <Legends stage={stage} />
        <span class="chart-utc caption" aria-hidden="true">UTC</span>
        <Waiting stage={stage} />
      </div>
      <span class="chart-probe" ref={probe} aria-hidden="true" />
      <div class="chart-foot">
        <Summary stage={stage} id="chart-summary" />
        <Thinned stage={stage} />
        {[of.note.value, stage.scene.value.left].map((said) => said && <span class="caption">{said}</span>)}
        <span id="chart-keys" class="unseen">Arrow keys move in time, plus and minus zoom, 0 shows all.</span>
        <DataTable stage={stage} />
      </div>
    </section>
  );
}

/** Why the candle pane is not there. */
function Notes({ stage }: { stage: Stage }) {
  if (stage.withCandles.value) return null;
  return (
    <p class="chart-note caption">
      {stage.missing.value
        ? "The service has no candles of this run: equity and drawdown only."
        : "No candles: they come through the stream, which cannot be reached. Equity and drawdown come with /results."}
    </p>
  );
}

function Waiting({ stage }: { stage: Stage }) {
  if (unreachable.value) return <p class="chart-waiting muted">The chart could not be fetched: reload the page.</p>;
  if (stage.scene.value.axis.times.length) return null;
  return <p class="chart-waiting muted">{stage.waiting.value ? "Waiting for data…" : "No data to show."}</p>;
}

/** What is drawn, as attributes: a canvas cannot be read. */
function describe(group: HTMLElement | null, stage: Stage) {
  void [stage.subject.selection.value, stage.pointed.value];
  const scene = stage.scene.value, digest = digestOf(scene), view = stage.view.value ? "part" : "all";
  if (group) Object.assign(group.dataset, {
    points: scene.candles.length, equityPoints: scene.equity.length, fills: digest.fills, markers: digest.markers, ambiguous: digest.ambiguous,
    worst: digest.worst ?? "", low: digest.low ?? "", high: digest.high ?? "", lines: [...scene.lines.keys()].join(), panes: stage.panes.value.join(),
    from: scene.axis.times[0] ?? "", to: scene.axis.end || "", view, held: stage.held().findLast((h) => h.text)?.text ?? "", trades: scene.trades.length,
  });
}

function onKey(e: KeyboardEvent, stage: Stage) {
  const target = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey || target.closest("select, input, textarea, .chart-data")) return;
  const acts: Record<string, () => void> = {
    ArrowLeft: () => stage.pan(e.shiftKey ? -1 : -panStep),
    ArrowRight: () => stage.pan(e.shiftKey ? 1 : panStep),
    "+": () => stage.zoom(zoomStep),
    "=": () => stage.zoom(zoomStep),
    "-": () => stage.zoom(1 / zoomStep),
    "0": () => stage.show(null),
  };
  const act = acts[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}
