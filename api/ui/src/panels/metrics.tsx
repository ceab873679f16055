// Every metric with what it means.
import { metrics } from "../gen/contract.ts";
import { awaiting } from "../state/fresh.ts";
import { decimals } from "../state/money.ts";
import { quote, report, running } from "../state/store.ts";
import { headings, metaWords, metricName, metricText, metricTone, metricWords } from "./metric.ts";
import { undefinedReason } from "./numbers.ts";

const names = metrics.map((m) => m.name);

export function MetricsPanel() {
  const now = report.value;
  if (!now.metrics) return <p class="none">{running.value ? "The metrics are known when the run has ended." : awaiting.value ? "Loading…" : "There are no metrics."}</p>;
  return (
    <div class="metrics">
      <p class="caption">{metaWords(now.meta)}</p>
      {/* Rows that are laid out as a grid on a narrow page would be none without their roles. */}
      <table class="facts-table" role="table">
        <thead role="rowgroup">
          <tr role="row"><th scope="col" role="columnheader">Metric</th><th scope="col" role="columnheader" class="number">Value</th><th scope="col" role="columnheader">Meaning</th></tr>
        </thead>
        <tbody role="rowgroup">
          {metrics.map((metric) => {
            const why = undefinedReason(now, metric.name);
            const value = why === null ? now.metrics?.[metric.name] : null;
            const heading = headings[metric.name];
            return [
              heading && <tr key={heading} role="row"><th class="group" scope="rowgroup" role="rowheader" colSpan={3}>{heading}</th></tr>,
              <tr key={metric.name} role="row" data-metric={metric.name} data-value={value ?? ""}>
                <th scope="row" role="rowheader" title={metric.name}>{metricName(metric.name)}</th>
                <td role="cell" class={`number ${metricTone(metric.name, value)}`}>{metricText(metric, value, quote.value, decimals.value)}</td>
                <td role="cell">{why !== null && <strong>Not available: {why}. </strong>}{metricWords(metric.description, names)}</td>
              </tr>,
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}
