// Every metric with what it means.
import { metrics } from "../gen/contract.ts";
import { quote, report, running } from "../state/store.ts";
import { metaWords, metricName, metricText, metricTone } from "./metric.ts";
import { undefinedReason } from "./numbers.ts";

export function MetricsPanel() {
  const now = report.value;
  if (!now.metrics) return <p class="none">{running.value ? "The metrics are known when the run has ended." : "There are no metrics."}</p>;
  return (
    <>
      <p class="caption">{metaWords(now.meta)}{running.value && " As they were when this page connected."}</p>
      <table class="facts-table">
        <thead><tr><th scope="col">Metric</th><th scope="col" class="number">Value</th><th scope="col">Meaning</th></tr></thead>
        <tbody>
          {metrics.map((metric) => {
            const why = undefinedReason(now, metric.name);
            const value = why === null ? now.metrics?.[metric.name] : null;
            return (
              <tr key={metric.name} data-metric={metric.name} data-value={value ?? ""}>
                <th scope="row" title={metric.name}>{metricName(metric.name)}</th>
                <td class={`number ${metricTone(metric.name, value)}`}>{metricText(metric, value, quote.value)}</td>
                <td>{why !== null && <strong>Not available: {why}. </strong>}{metric.description}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}
