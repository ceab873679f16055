// Orders and positions that are still open, as short lists.
import type { Order, Position } from "../api/types.ts";
import { exact, signedMoney, tone } from "../state/format.ts";
import { quoteOf } from "../state/store.ts";

const open: readonly Order["status"][] = ["new", "open", "partially_filled"];

export function OpenOrders({ orders }: { orders: Order[] }) {
  const list = orders.filter((order) => open.includes(order.status));
  return (
    <>
      <h3>Open orders ({list.length})</h3>
      {list.length === 0 ? <p class="muted">None is known.</p> : (
        <ul class="open-list">
          {list.map((order) => (
            <li key={order.order_id}>
              {order.side} {exact(order.quantity - order.filled_quantity)} {order.symbol} {order.type.replaceAll("_", " ")}
              {price(order)} <code>{order.order_id}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function price(order: Order): string {
  const parts = [];
  if (order.stop_price !== null) parts.push(`stop ${exact(order.stop_price)}`);
  if (order.limit_price !== null) parts.push(`limit ${exact(order.limit_price)}`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

export function OpenPositions({ positions }: { positions: Position[] }) {
  return (
    <>
      <h3>Positions ({positions.length})</h3>
      {positions.length === 0 ? <p class="muted">None is known.</p> : (
        <ul class="open-list">
          {positions.map((p) => (
            <li key={p.symbol}>
              {p.direction} {exact(Math.abs(p.quantity))} {p.symbol} at {exact(p.average_entry_price)}, unrealised{" "}
              <span class={tone(p.unrealized_pnl)}>{signedMoney(p.unrealized_pnl)} {quoteOf([p.symbol])}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
