// The columns of the four tables.
import type { Fill, Order, Position, Trade } from "../api/types.ts";
import type { RowTypes } from "../state/source.ts";
import * as f from "../state/format.ts";
import { amount, code, doubted, gain, holding, plain, price, quantity, result, signed, time, word, yes, type Spec } from "./columns.ts";

const ms = (text: string | null) => (text ? Date.parse(text) : NaN);
const spoken = (...parts: (string | null)[]) => parts.map((p) => (p ? `${p} ${p.replaceAll("_", " ")}` : "")).join(" ").toLowerCase();

export const trades: Spec<Trade> = {
  title: "Trades", one: "trade", many: "trades",
  columns: [
    time("exit_time", "Exit time", "Open time of the candle of the exit", (t) => t.exit_time),
    result("pnl", "PnL", "Profit after fees", (t) => t.pnl),
    gain("return", "Return", "PnL over the opening notional", (t) => t.return),
    plain("symbol", "Symbol", "Market", (t) => t.symbol),
    word("direction", "Direction", "long gains when the price rises, short when it falls", (t) => t.direction),
    quantity("quantity", "Quantity", "Sum of the opening fills, in the base currency", (t) => t.quantity),
    price("entry_price", "Entry", "Average entry price", (t) => t.entry_price),
    price("exit_price", "Exit", "Average exit price", (t) => t.exit_price),
    doubted(word("exit_reason", "Reason", "What closed it. ○ is ambiguous: the candle leaves open whether it happened this way", (t) => t.exit_reason), (t) => t.ambiguous),
    quantity("candles_held", "Candles", "Candles from entry to exit; 0 is the same candle", (t) => t.candles_held, f.count),
    signed("mae", "MAE", "Worst excursion while it was open, before fees", (t) => t.mae),
    signed("mfe", "MFE", "Best excursion while it was open, before fees", (t) => t.mfe),
  ],
  fields: [
    "trade_id", "symbol", "direction", "quantity", "entry_time", "entry_price", "exit_time", "exit_price", "gross_pnl", "fees", "slippage", "pnl",
    "return", "exit_reason", "candles_held", "duration_seconds", "mae", "mfe", "entry_tag", "exit_tag", "order_ids", "ambiguous",
  ],
  id: (t) => t.trade_id,
  span: (t) => [ms(t.entry_time), ms(t.exit_time)],
  open: () => false,
  search: (t) => spoken(t.trade_id, t.symbol, t.direction, t.exit_reason, t.entry_tag, t.exit_tag, t.ambiguous ? "ambiguous" : "") + " " + t.order_ids.join(" "),
  chips: [{ label: "Wins", test: (t) => t.pnl > 0 }, { label: "Losses", test: (t) => t.pnl < 0 }],
  none: { running: "No trade has been closed yet.", ended: "The run closed no trade." },
};

const resting: readonly Order["status"][] = ["new", "open", "partially_filled"];
const dead: readonly Order["status"][] = ["canceled", "rejected", "expired"];

export const orders: Spec<Order> = {
  title: "Orders", one: "order", many: "orders",
  columns: [
    time("created_at", "Created", "Close time of the candle that led to the order", (o) => o.created_at),
    plain("symbol", "Symbol", "Market", (o) => o.symbol),
    word("side", "Side", "buy or sell", (o) => o.side),
    word("type", "Type", "Order type", (o) => o.type),
    word("role", "Role", "What the order is for", (o) => o.role),
    word("status", "Status", "State of the order", (o) => o.status),
    code("reject_reason", "Reason", "Why it was rejected, canceled or expired", (o) => o.reject_reason),
    // An order sized by cash or position has no quantity before its fill.
    quantity("quantity", "Quantity", "In the base currency; known at the fill for orders sized by cash or position", (o) => o.quantity || null),
    quantity("filled_quantity", "Filled", "Filled so far, in the base currency", (o) => o.filled_quantity),
    price("limit_price", "Limit", "Limit price", (o) => o.limit_price),
    price("stop_price", "Stop", "Trigger price", (o) => o.stop_price),
    price("average_price", "Average", "Average fill price", (o) => o.average_price),
    amount("fee", "Fee", "Fees so far, in the fee currency", (o) => o.fee, ""),
    plain("fee_currency", "Fee in", "Currency of the fee", (o) => o.fee_currency),
    word("time_in_force", "In force", "How long it rests: gtc until canceled, gtd until a date, ioc at once or never", (o) => o.time_in_force),
    yes("reduce_only", "Reduce only", "Whether it may only shrink a position", (o) => o.reduce_only),
    plain("tag", "Tag", "The strategy's own tag", (o) => o.tag),
    time("filled_at", "Filled at", "Open time of the candle of the last fill", (o) => o.filled_at),
    time("updated_at", "Updated", "Last change", (o) => o.updated_at),
    code("order_id", "Order id", "Id within the run", (o) => o.order_id),
    code("parent_order_id", "Parent id", "Entry that a stop-loss or take-profit belongs to", (o) => o.parent_order_id),
    code("client_order_id", "Client id", "The strategy's own reference, or the id given to the venue", (o) => o.client_order_id),
    code("exchange_order_id", "Exchange id", "The venue's id", (o) => o.exchange_order_id),
  ],
  fields: [
    "order_id", "client_order_id", "symbol", "side", "type", "role", "time_in_force", "quantity", "filled_quantity", "limit_price", "stop_price",
    "average_price", "status", "fee", "fee_currency", "reduce_only", "parent_order_id", "tag", "reject_reason", "exchange_order_id", "created_at",
    "updated_at", "filled_at",
  ],
  id: (o) => o.order_id,
  span: (o) => [ms(o.created_at), ms(o.created_at)],
  open: (o) => resting.includes(o.status),
  search: (o) => spoken(o.order_id, o.client_order_id, o.exchange_order_id, o.parent_order_id, o.symbol, o.side, o.type, o.role, o.status, o.reject_reason, o.tag),
  chips: [
    { label: "Open", test: (o) => resting.includes(o.status) },
    { label: "Filled", test: (o) => o.status === "filled" },
    { label: "Not filled", test: (o) => dead.includes(o.status) },
  ],
  none: { running: "No order has been made yet.", ended: "The run made no order." },
};

export const fills: Spec<Fill> = {
  title: "Fills", one: "fill", many: "fills",
  columns: [
    time("timestamp", "Time", "Open time of the candle in which it happened; live: the venue's time", (x) => x.timestamp),
    plain("symbol", "Symbol", "Market", (x) => x.symbol),
    word("side", "Side", "buy or sell", (x) => x.side),
    quantity("quantity", "Quantity", "In the base currency", (x) => x.quantity),
    price("price", "Price", "After slippage", (x) => x.price),
    price("reference_price", "Reference", "Price before slippage", (x) => x.reference_price),
    amount("slippage", "Slippage", "Distance from the reference price times quantity", (x) => x.slippage),
    amount("fee", "Fee", "In the fee currency", (x) => x.fee, ""),
    plain("fee_currency", "Fee in", "Currency of the fee", (x) => x.fee_currency),
    word("liquidity", "Liquidity", "Which fee applied: taker or maker", (x) => x.liquidity),
    result("realized_pnl", "Realized", "Gross profit that it realised", (x) => x.realized_pnl),
    holding("position_after", "Position after", "Held after it, in the base currency; negative when short", (x) => x.position_after),
    yes("ambiguous", "Ambiguous", "Whether the candle leaves open if it happened this way", (x) => x.ambiguous),
    plain("tag", "Tag", "The strategy's own tag", (x) => x.tag),
    code("order_id", "Order id", "Its order", (x) => x.order_id),
    code("fill_id", "Fill id", "Id within the run", (x) => x.fill_id),
  ],
  fields: [
    "fill_id", "order_id", "symbol", "side", "quantity", "price", "reference_price", "slippage", "fee", "fee_currency", "liquidity", "timestamp",
    "position_after", "realized_pnl", "ambiguous", "tag",
  ],
  id: (x) => x.fill_id,
  span: (x) => [ms(x.timestamp), ms(x.timestamp)],
  open: () => false,
  search: (x) => spoken(x.fill_id, x.order_id, x.symbol, x.side, x.liquidity, x.tag, x.ambiguous ? "ambiguous" : ""),
  chips: [{ label: "Buys", test: (x) => x.side === "buy" }, { label: "Sells", test: (x) => x.side === "sell" }],
  none: { running: "No order has been filled yet.", ended: "No order of the run was filled." },
};

export const positions: Spec<Position> = {
  title: "Positions", one: "position", many: "positions",
  columns: [
    plain("symbol", "Symbol", "Market", (p) => p.symbol),
    word("direction", "Direction", "long gains when the price rises, short when it falls", (p) => p.direction),
    holding("quantity", "Quantity", "In the base currency; negative when short", (p) => p.quantity),
    price("average_entry_price", "Entry", "Average entry price", (p) => p.average_entry_price),
    price("mark_price", "Mark", "Last price", (p) => p.mark_price),
    signed("market_value", "Market value", "Quantity times mark; negative when short", (p) => p.market_value),
    result("unrealized_pnl", "Unrealized", "Gross profit if it were closed at the mark", (p) => p.unrealized_pnl),
    result("realized_pnl", "Realized", "Gross profit realised since it was opened", (p) => p.realized_pnl),
    amount("fees", "Fees", "Fees since it was opened", (p) => p.fees),
    price("stop_loss", "Stop-loss", "Price at which a resting order closes it with a loss", (p) => p.stop_loss),
    price("take_profit", "Take-profit", "Price at which a resting order closes it with a profit", (p) => p.take_profit),
    time("opened_at", "Opened", "When it was opened", (p) => p.opened_at),
    time("updated_at", "Updated", "Last change", (p) => p.updated_at),
  ],
  fields: [
    "symbol", "direction", "quantity", "average_entry_price", "mark_price", "market_value", "unrealized_pnl", "realized_pnl", "fees", "stop_loss",
    "take_profit", "opened_at", "updated_at",
  ],
  id: (p) => p.symbol,
  span: (p) => [ms(p.opened_at), ms(p.opened_at)],
  open: () => true,
  search: (p) => spoken(p.symbol, p.direction),
  chips: [],
  none: { running: "No position is open.", ended: "No position was open at the end." },
};

/** The tables that are asked for in pages. */
export const paged: { [T in keyof RowTypes]: Spec<RowTypes[T]> } = { trades, orders, fills };
