// The numbers that matter most. data-value holds each exactly as the service sent it.
import { computed, effect, signal } from "@preact/signals";
import { time } from "../state/format.ts";
import { equity, quote, report, running, status } from "../state/store.ts";
import { tiles, type Tile } from "./numbers.ts";

// Metrics come with a snapshot and stay while the run goes on: their day stands beside them.
const reported = signal("");
effect(() => {
  const known = report.value.metrics !== null;
  reported.value = known ? time(status.peek().simulated_time).slice(0, 10) : "";
});
const asOf = computed(() => (running.value && reported.value ? `at ${reported.value}` : ""));
const shown = computed(() => tiles(status.value, report.value, running.value ? equity.value : [], quote.value, asOf.value));

export function Tiles() {
  return (
    <section aria-label="Key numbers">
      <dl class="tiles">{shown.value.map((tile) => <One key={tile.name} tile={tile} />)}</dl>
    </section>
  );
}

function One({ tile }: { tile: Tile }) {
  return (
    <div class="panel tile" data-tile={tile.name} data-value={tile.value ?? ""}>
      <dt>{tile.label}{tile.unit && <span class="unit"> {tile.unit}</span>}</dt>
      <dd class={tile.tone}>{tile.text}</dd>
      {tile.note && <dd class={`aside ${tile.noteTone}`}>{tile.note}</dd>}
    </div>
  );
}
