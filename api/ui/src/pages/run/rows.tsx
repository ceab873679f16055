// Trades, orders and fills, page by page; the files of the run and its log.
import { useSignal } from "@preact/signals";
import type { Fill, Order, Trade } from "../../api/types.ts";
import { Copy } from "../../panels/copy.tsx";
import * as f from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { fragment, keep } from "../../state/route.ts";
import { Section, States, Table, type Column } from "../kit.tsx";
import type { FileRow, Line, List } from "../shapes.ts";

const trades: Column<Trade>[] = [
  { key: "exit", head: "Exit", sort: "exit_time", tight: true, cell: (t) => f.time(t.exit_time) },
  { key: "symbol", head: "Symbol", cell: (t) => <bdi>{t.symbol}</bdi> },
  { key: "direction", head: "Direction", cell: (t) => t.direction },
  { key: "quantity", head: "Quantity", sort: "quantity", number: true, cell: (t) => f.exact(t.quantity) },
  { key: "entry", head: "Entry price", number: true, cell: (t) => f.exact(t.entry_price) },
  { key: "price", head: "Exit price", number: true, cell: (t) => f.exact(t.exit_price) },
  { key: "pnl", head: "PnL", sort: "pnl", number: true, cell: (t) => <span class={f.tone(t.pnl)}>{f.signedAmount(t.pnl)}</span> },
  { key: "return", head: "Return", sort: "return", number: true, cell: (t) => f.signedPercent(t.return) },
  { key: "reason", head: "Reason", cell: (t) => f.words(t.exit_reason) },
  { key: "held", head: "Candles", number: true, cell: (t) => f.count(t.candles_held) },
];

const orders: Column<Order>[] = [
  { key: "created", head: "Created", sort: "created_at", tight: true, cell: (o) => f.time(o.created_at) },
  { key: "symbol", head: "Symbol", cell: (o) => <bdi>{o.symbol}</bdi> },
  { key: "side", head: "Side", cell: (o) => o.side },
  { key: "type", head: "Type", cell: (o) => f.words(o.type) },
  { key: "quantity", head: "Quantity", sort: "quantity", number: true, cell: (o) => f.exact(o.quantity) },
  { key: "price", head: "Average price", number: true, cell: (o) => f.exact(o.average_price) },
  { key: "fee", head: "Fee", sort: "fee", number: true, cell: (o) => f.exact(o.fee) },
  { key: "status", head: "Status", sort: "status", cell: (o) => <>{f.words(o.status)}{o.reject_reason && <bdi> ({f.words(o.reject_reason)})</bdi>}</> },
];

const fills: Column<Fill>[] = [
  { key: "time", head: "Time", sort: "timestamp", tight: true, cell: (x) => f.time(x.timestamp) },
  { key: "symbol", head: "Symbol", cell: (x) => <bdi>{x.symbol}</bdi> },
  { key: "side", head: "Side", cell: (x) => x.side },
  { key: "quantity", head: "Quantity", sort: "quantity", number: true, cell: (x) => f.exact(x.quantity) },
  { key: "price", head: "Price", number: true, cell: (x) => f.exact(x.price) },
  { key: "slippage", head: "Slippage", sort: "slippage", number: true, cell: (x) => f.exact(x.slippage) },
  { key: "fee", head: "Fee", sort: "fee", number: true, cell: (x) => f.exact(x.fee) },
  { key: "after", head: "Position after", number: true, cell: (x) => f.exact(x.position_after) },
  { key: "pnl", head: "Realized", sort: "realized_pnl", number: true, cell: (x) => f.signedAmount(x.realized_pnl) },
];

const tables = { trades: "Trades", orders: "Orders", fills: "Fills" };

/** The closed round trips, the orders and the fills, one table at a time; which and in what order is part of the address. */
export function Rows({ path }: { path: string }) {
  const kinds = Object.keys(tables) as (keyof typeof tables)[], shown = kinds.find((t) => t === fragment.value.get("table")) ?? "trades";
  const choice = kinds.map((t) => (
    <button key={t} type="button" aria-pressed={t === shown} onClick={() => keep({ table: t, sort: "" })}>{tables[t]}</button>
  ));
  const of = "run", at = `${path}/${shown}`, sort = fragment.value.get("sort") ?? "", onSort = (by: string) => keep({ sort: by });
  return (
    <Section name={tables[shown]} aside={<span class="table-chips" role="group" aria-label="Table">{choice}</span>}>
      {shown === "trades" && <Paged key={at + sort} path={at} of={of} what="trades" columns={trades} id={(t: Trade) => t.trade_id} sort={sort} onSort={onSort} />}
      {shown === "orders" && <Paged key={at + sort} path={at} of={of} what="orders" columns={orders} id={(o: Order) => o.order_id} sort={sort} onSort={onSort} />}
      {shown === "fills" && <Paged key={at + sort} path={at} of={of} what="fills" columns={fills} id={(x: Fill) => x.fill_id} sort={sort} onSort={onSort} />}
    </Section>
  );
}

interface PagedProps<R> {
  path: string;
  what: string;
  /** The thing that has them. */
  of: string;
  columns: Column<R>[];
  id: (row: R) => string;
  /** The order that the service is asked for, and who changes it, where it may be chosen. */
  sort?: string;
  onSort?: (sort: string) => void;
}

/** A table that is asked for page by page. */
export function Paged<R>({ path, what, of, columns, id, sort, onSort }: PagedProps<R>) {
  const cursors = useSignal<string[]>([]), cursor = cursors.value.at(-1);
  const asked = useAnswer<List<R>>(`${path}?limit=50${sort ? "&sort=" + sort : ""}${cursor ? "&cursor=" + encodeURIComponent(cursor) : ""}`);
  return (
    <States of={asked} what={what} empty={({ items }) => items.length === 0 && <p>The {of} has no {what}.</p>}>
      {(list) => (
        <>
          <Table name={f.words(what)} rows={list.items} columns={columns} id={id} sort={sort} onSort={onSort} />
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
