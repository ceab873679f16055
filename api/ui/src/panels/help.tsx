// Keys, marks and where to read on.
import { shortcuts } from "../state/theme.ts";
import { dialog } from "../state/view.ts";
import { Modal } from "./modal.tsx";

const close = () => (dialog.value = null);

const always: [string, string][] = [
  ["?", "this help"],
  ["Ctrl+Enter", "start, from anywhere in the form"],
  ["Esc", "close a dialog, a message or the form"],
  ["← → Home End", "between the tabs"],
  ["↑ ↓ ← → Page ↑ Page ↓", "in a table; Enter selects the row's time on the chart"],
  ["← → + − 0", "on the chart: pan, zoom, show all"],
];
const letters: [string, string][] = [["s", "stop"], ["r", "reset"], ["t", "theme"], ["1 … 7", "the tabs, from Trades to Log"]];

const marks: [string, string][] = [
  ["▲ ▼", "a buy and a sell; hollow: the candle leaves open whether it happened this way"],
  ["▲ 12", "several fills share one mark with a bar and, where there is room, their number; candles are merged in the same way. Zoom in to separate them"],
  ["n/a", "the metric is not defined for this run; the reason stands beside it"],
  ["grey numbers", "older than 5 s, because the connection is broken"],
  ["partial", "the run ended before its data did: not evidence for the whole window"],
];

export function Help() {
  return (
    <Modal title="Help" onClose={close}>
      <Table caption="Keys" rows={always} />
      <label class="switch">
        <input type="checkbox" checked={shortcuts.value} onChange={(e) => (shortcuts.value = e.currentTarget.checked)} />
        Single-letter keys
      </label>
      <Table caption={shortcuts.value ? "Single-letter keys (on)" : "Single-letter keys (off)"} rows={letters} />
      <Table caption="Marks" rows={marks} />
      <p>A new or changed strategy appears after a restart of the service. All times are UTC.</p>
      <p><a href="/docs/guide">Guides</a> · <a href="/docs">API docs</a> · <a href="/docs/errors">Errors</a> · <a href="/docs/events">Stream events</a></p>
      <div class="dialog-buttons"><button type="button" autofocus onClick={close}>Close</button></div>
    </Modal>
  );
}

function Table({ caption, rows }: { caption: string; rows: [string, string][] }) {
  return (
    <table class="facts-table">
      <caption>{caption}</caption>
      <tbody>{rows.map(([name, text]) => <tr key={name}><th scope="row"><kbd>{name}</kbd></th><td>{text}</td></tr>)}</tbody>
    </table>
  );
}
