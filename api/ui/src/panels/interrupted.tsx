// Which run was cut short and what is known of its orders and positions.
import { isolated } from "../state/bidi.ts";
import { config, status, strategyName } from "../state/store.ts";
import { OpenOrders, OpenPositions } from "./open.tsx";
import { journalWords, phaseWords } from "./sentences.ts";

export function Interrupted() {
  const run = status.value;
  const data = journalWords(run.error_details?.data ?? {});
  return (
    <>
      <p>
        {run.mode === "live" ? "Live" : "Paper"} run <code>{run.run_id}</code>
        {config.value && ` of ${isolated(strategyName.value)} on ${config.value.symbols.join(", ")}`}
        {run.error_details?.phase && `, interrupted while ${phaseWords(run.error_details.phase as typeof run.phase)}`}. What is known of it comes from its
        journal; the venue has the last word.
      </p>
      <OpenOrders />
      <OpenPositions />
      {data.length > 0 && (
        <>
          <h3>In the journal</h3>
          <dl class="facts">{data.map(([name, text]) => <div key={name}><dt>{name}</dt><dd class="mono"><bdi>{text}</bdi></dd></div>)}</dl>
        </>
      )}
    </>
  );
}
