// The files of a table: the rows shown as CSV, the whole result as JSON.
import { count } from "../state/format.ts";
import { ended, status } from "../state/store.ts";
import { cancelSaving, fileName, save, saved, saving, type Sheet } from "./save.ts";

interface Props<R> {
  name: string;
  /** What the rows are called. */
  many: string;
  /** Whether there is no row to save. */
  empty: boolean;
  sheet(): Sheet<R>;
}

export function Files<R>({ name, many, empty, sheet }: Props<R>) {
  const now = saving.value, mine = now?.name === name;
  const words = mine ? `${count(now.done)} of ${count(now.of)} rows` : saved.value?.name === name ? saved.value.words : "";
  return (
    <span class="table-files">
      {words && <span class="caption">{words}</span>}
      {mine && <button type="button" onClick={cancelSaving}>Cancel</button>}
      <button type="button" disabled={!!now || empty} title={`The ${many} shown, as CSV`} onClick={() => void save(sheet())}>CSV</button>
      <Json />
    </span>
  );
}

/** The complete results, straight from the service, which has them when the run has ended. */
function Json() {
  if (!ended.value) return <span class="caption">JSON after the end of the run</span>;
  const name = status.value.run_id && fileName("results", "json");
  return <a class="button" href="/api/v1/results" download={name} title="The complete results of the run">JSON</a>;
}
