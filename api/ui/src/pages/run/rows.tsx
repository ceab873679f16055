// Trades, page by page; the files of the run and its log.
import { useSignal } from "@preact/signals";
import type { Trade } from "../../api/types.ts";
import { Copy } from "../../panels/copy.tsx";
import * as f from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { Section, States, Table, type Column } from "../kit.tsx";
import type { FileRow, Line, List } from "../shapes.ts";

const trades: Column<Trade>[] = [
  { key: "exit", head: "Exit", cell: (t) => f.time(t.exit_time) },
  { key: "symbol", head: "Symbol", cell: (t) => <bdi>{t.symbol}</bdi> },
  { key: "direction", head: "Direction", cell: (t) => t.direction },
  { key: "quantity", head: "Quantity", number: true, cell: (t) => f.exact(t.quantity) },
  { key: "entry", head: "Entry price", number: true, cell: (t) => f.exact(t.entry_price) },
  { key: "price", head: "Exit price", number: true, cell: (t) => f.exact(t.exit_price) },
  { key: "pnl", head: "PnL", number: true, cell: (t) => <span class={f.tone(t.pnl)}>{f.signedAmount(t.pnl)}</span> },
  { key: "return", head: "Return", number: true, cell: (t) => f.signedPercent(t.return) },
  { key: "reason", head: "Reason", cell: (t) => f.words(t.exit_reason) },
  { key: "held", head: "Candles", number: true, cell: (t) => f.count(t.candles_held) },
];

/** The closed round trips. */
export function Trades({ path }: { path: string }) {
  return <Section name="Trades"><Paged path={path + "/trades"} what="trades" columns={trades} id={(t: Trade) => t.trade_id} /></Section>;
}

interface PagedProps<R> {
  path: string;
  what: string;
  columns: Column<R>[];
  id: (row: R) => string;
}

function Paged<R>({ path, what, columns, id }: PagedProps<R>) {
  const cursors = useSignal<string[]>([]), cursor = cursors.value.at(-1);
  const asked = useAnswer<List<R>>(`${path}?limit=50${cursor ? "&cursor=" + encodeURIComponent(cursor) : ""}`);
  return (
    <States of={asked} what={what} empty={({ items }) => items.length === 0 && <p>The run has no {what}.</p>}>
      {(list) => (
        <>
          <Table name={f.words(what)} rows={list.items} columns={columns} id={id} />
          <p class="toolbar">
            {cursors.value.length > 0 && <button type="button" onClick={() => (cursors.value = cursors.value.slice(0, -1))}>Earlier rows</button>}
            <span>{f.count(list.total)} in all</span>
            {list.next_cursor && <button type="button" onClick={() => (cursors.value = [...cursors.value, list.next_cursor ?? ""])}>Further rows</button>}
          </p>
        </>
      )}
    </States>
  );
}

export function Files({ path }: { path: string }) {
  const asked = useAnswer<{ items: FileRow[] }>(path + "/files");
  const columns: Column<FileRow>[] = [
    { key: "name", head: "File", cell: (x) => (x.locked ? <bdi>{x.name} (locked)</bdi> : <a download href={`/api/v1${path}/files/${encodeURIComponent(x.name)}`}><bdi>{x.name}</bdi></a>) },
    { key: "size", head: "Bytes", number: true, cell: (x) => (x.locked ? f.missing : f.count(x.size)) },
    { key: "sha256", head: "SHA-256", cell: (x) => (x.locked ? f.missing : <><code title={x.sha256}>{f.shortId(x.sha256, 12)}</code><Copy text={x.sha256} what={`hash of ${x.name}`} /></>) },
  ];
  return (
    <Section name="Files">
      <States of={asked} what="files" empty={({ items }) => items.length === 0 && <p>The run has no file.</p>}>
        {({ items }) => <Table name="Files" rows={items} columns={columns} id={(x) => x.name} />}
      </States>
    </Section>
  );
}

export function Log({ path }: { path: string }) {
  const level = useSignal("");
  const asked = useAnswer<List<Line>>(`${path}/log?limit=200${level.value && "&level=" + level.value}`);
  return (
    <Section name="Log" aside={<label>Level <select value={level.value} onChange={(e) => (level.value = e.currentTarget.value)}>{["", "info", "warn", "error"].map((l) => <option key={l} value={l}>{l || "all"}</option>)}</select></label>}>
      <States of={asked} what="log" empty={({ items }) => items.length === 0 && <p>The log has no such line.</p>}>
        {({ items }) => (
          <div class="scroll log" role="region" aria-label="Lines of the log" tabIndex={0}>
            <ol>{items.map((l, i) => <li key={i} class={`line ${l.level}`}><time>{f.time(l.time)}</time><span class="level">{l.level}</span><span class="source">{l.source}</span><bdi class="message">{l.message}</bdi></li>)}</ol>
          </div>
        )}
      </States>
    </Section>
  );
}
