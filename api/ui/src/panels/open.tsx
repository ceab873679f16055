// Orders and positions that are still open, as short lists.
import { computed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Order, Position } from "../api/types.ts";
import { exact, signedMoney, tone } from "../state/format.ts";
import { heardText, stale } from "../state/fresh.ts";
import { decimals } from "../state/money.ts";
import { source } from "../state/source.ts";
import { asOf, connection, positions, quoteOf, recent, results, revision } from "../state/store.ts";
import { gapWords, merged, search, type Search } from "./orders.ts";

/** While orders change they are looked through again after this, ms. */
const again = 5000;

export function OpenOrders() {
  const found = useSearch();
  if (!found) return <><h3>Open orders</h3><p class="muted">Looking through the orders of the run…</p></>;
  const list = merged(found.open, recent.value.orders), gap = gapWords(found);
  return (
    <>
      <h3>Open orders ({list.length}{gap && " known"})</h3>
      {list.length === 0 ? <p class="muted">None is known.</p> : <ul class="open-list">{list.map((order) => <One key={order.order_id} order={order} />)}</ul>}
      {gap && <p><strong>{gap}</strong></p>}
    </>
  );
}

/** null until the first search is over; a later one that fails leaves what was found. */
function useSearch(): Search | null {
  const [found, setFound] = useState<Search | null>(null);
  const from = source.value;
  useEffect(() => {
    let on = true, timer = 0, seen = -1;
    const look = async () => {
      if (seen !== revision.peek()) {
        seen = revision.peek();
        const now = await search(from, () => on);
        if (!on) return;
        setFound((before) => (before && now.problem ? before : now));
      }
      timer = setTimeout(() => void look(), again);
    };
    void look();
    return () => {
      on = false;
      clearTimeout(timer);
    };
  }, [from]);
  return found;
}

function One({ order }: { order: Order }) {
  // An order sized by cash has no quantity before its fill.
  const left = order.quantity > 0 ? exact(order.quantity - order.filled_quantity) + " " : "";
  return <li>{order.side} {left}{order.symbol} {order.type.replaceAll("_", " ")}{price(order)} <code>{order.order_id}</code></li>;
}

function price(order: Order): string {
  const parts = [];
  if (order.stop_price !== null) parts.push(`stop ${exact(order.stop_price)}`);
  if (order.limit_price !== null) parts.push(`limit ${exact(order.limit_price)}`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

const known = computed(() => asOf.value !== "" || results.value !== null);

export function OpenPositions() {
  const list = positions.value;
  if (!known.value) return <><h3>Positions</h3><p class="muted">Not known: live updates are not available.</p></>;
  return (
    <>
      <h3>Positions ({list.length})</h3>
      {list.length === 0 ? <p class="muted">None is known.</p> : <ul class="open-list">{list.map((p) => <Held key={p.symbol} p={p} />)}</ul>}
    </>
  );
}

function Held({ p }: { p: Position }) {
  return (
    <li>
      {p.direction} {exact(Math.abs(p.quantity))} {p.symbol} at {exact(p.average_entry_price)}, unrealised{" "}
      <span class={tone(p.unrealized_pnl)}>{signedMoney(p.unrealized_pnl, decimals.value)} {quoteOf([p.symbol])}</span>
    </li>
  );
}

const current = computed(() => connection.value.state === "live" && !stale.value);

/** How old the lists of a run that goes on are, when they are not followed. */
export function Age() {
  if (current.value || !known.value) return null;
  return <p><strong>Orders and positions are as of {heardText.value}: live updates are not available.</strong></p>;
}
