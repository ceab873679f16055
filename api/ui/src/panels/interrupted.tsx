// Which run was cut short and what is known of its orders and positions.
import { isolated } from "../state/bidi.ts";
import { words } from "../state/format.ts";
import { config, status } from "../state/store.ts";
import { OpenOrders, OpenPositions } from "./open.tsx";
import { phaseWords } from "./sentences.ts";

export function Interrupted() {
  const run = status.value;
  const data = Object.entries(run.error_details?.data ?? {});
  return (
    <>
      <p>
        {run.mode === "live" ? "Live" : "Paper"} run <code>{run.run_id}</code>
        {config.value && ` of ${isolated(config.value.strategy_name)} on ${config.value.symbols.join(", ")}`}
        {run.error_details?.phase && `, interrupted while ${phaseWords(run.error_details.phase as typeof run.phase)}`}. What is known of it comes from its
        journal; the venue has the last word.
      </p>
      <OpenOrders />
      <OpenPositions />
      {data.length > 0 && (
        <dl class="facts">
          {data.map(([key, value]) => (
            <div key={key}><dt>{words(key)}</dt><dd class="mono"><bdi>{typeof value === "string" ? value : JSON.stringify(value)}</bdi></dd></div>
          ))}
        </dl>
      )}
    </>
  );
}
