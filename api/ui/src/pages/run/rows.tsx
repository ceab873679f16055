// Trades, orders and fills, page by page; the files of the run and its log.
import type { Fill, Order, Trade } from "../../api/types.ts";
import { Copy } from "../../panels/copy.tsx";
import * as f from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { fragment, keep } from "../../state/route.ts";
import { Section, States, Table, type Column } from "../kit.tsx";
import { firstPage, Paged, usePages } from "../paged.tsx";
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
    <button key={t} type="button" aria-pressed={t === shown} onClick={() => keep({ table: t, sort: "", ...firstPage(t) })}>{tables[t]}</button>
  ));
  const of = "run", at = `${path}/${shown}`, sort = fragment.value.get("sort") ?? "", onSort = (by: string) => keep({ sort: by, ...firstPage(shown) });
  return (
    <Section name={tables[shown]} aside={<span class="table-chips" role="group" aria-label="Table">{choice}</span>}>
      {shown === "trades" && <Paged key={at + sort} path={at} of={of} what="trades" columns={trades} id={(t: Trade) => t.trade_id} sort={sort} onSort={onSort} />}
      {shown === "orders" && <Paged key={at + sort} path={at} of={of} what="orders" columns={orders} id={(o: Order) => o.order_id} sort={sort} onSort={onSort} />}
      {shown === "fills" && <Paged key={at + sort} path={at} of={of} what="fills" columns={fills} id={(x: Fill) => x.fill_id} sort={sort} onSort={onSort} />}
    </Section>
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

/** The log may speak of a locked test, and is locked with it. */
export const Log = ({ path, locked }: { path: string; locked: boolean }) => (locked ? <Section name="Log"><p>The log is locked as long as the test split is: it may speak of it.</p></Section> : <Lines path={path} />);

function Lines({ path }: { path: string }) {
  const level = fragment.value.get("level") ?? "";
  const { asked, key, turn } = usePages<List<Line>>(`${path}/log${level && "?level=" + level}`, "log", 200);
  return (
    <Section name="Log" aside={<label>Level <select value={level} onChange={(e) => keep({ level: e.currentTarget.value, ...firstPage("log") })}>{["", "info", "warn", "error"].map((l) => <option key={l} value={l}>{l || "all"}</option>)}</select></label>}>
      <States of={asked} what="log" empty={({ items }) => items.length === 0 && <p>{level ? "The log has no such line." : "The log has no line."}</p>}>
        {(list) => (
          <>
            <div key={key} class="scroll log" role="region" aria-label="Lines of the log" tabIndex={0}>
              <ol>{list.items.map((l, i) => <li key={i} class={`line ${l.level}`}><time>{f.time(l.time)}</time><span class="level">{l.level}</span><span class="source">{l.source}</span><bdi class="message">{l.message}</bdi></li>)}</ol>
            </div>
            {turn(list)}
          </>
        )}
      </States>
    </Section>
  );
}
