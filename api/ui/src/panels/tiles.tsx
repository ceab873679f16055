// The numbers that matter most. data-value holds each exactly as the service sent it.
import { computed } from "@preact/signals";
import { awaiting, dated } from "../state/fresh.ts";
import { decimals } from "../state/money.ts";
import { equity, quote, report, results, running, status } from "../state/store.ts";
import { tiles, type Tile } from "./numbers.ts";

const shown = computed(() => tiles({
  status: status.value, report: report.value, curve: running.value ? equity.value : [], quote: quote.value, decimals: decimals.value,
  dated: dated.value, awaiting: awaiting.value,
  steps: results.value?.equity_curve_sampling.of ?? status.value.candles_done,
}));

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
