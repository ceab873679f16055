// Which orders are open. Any order of the run may be, so all of them are looked through.
import type { Order } from "../api/types.ts";
import { count } from "../state/format.ts";
import type { Source } from "../state/source.ts";

/** Rows asked for at once, and the most that are asked for. */
const page = 500, most = 20_000;

const resting: readonly Order["status"][] = ["new", "open", "partially_filled"];
export const isOpen = (order: Order): boolean => resting.includes(order.status);

export interface Search {
  /** Newest first. */
  open: Order[];
  /** How many were looked at, the newest ones, of how many. */
  seen: number;
  of: number;
  /** Why not more, "" without a failure. */
  problem: string;
}

/** Looks through the orders as long as it is wanted. New ones push the others back meanwhile: some come twice, none is passed over. */
export async function search(source: Pick<Source, "rows">, wanted: () => boolean = () => true): Promise<Search> {
  const open = new Map<string, Order>();
  let seen = 0, of = 0, problem = "";
  try {
    do {
      const { items, of: all } = await source.rows("orders", seen, page);
      of = all;
      seen += items.length;
      for (const order of items) {
        if (isOpen(order)) open.set(order.order_id, order);
        else open.delete(order.order_id);
      }
      if (items.length === 0) break;
    } while (seen < of && seen < most && wanted());
  } catch (e) {
    problem = (e as Error).message;
  }
  return { open: [...open.values()], seen: Math.min(seen, of), of, problem };
}

/** The open orders, those at hand being newer than what was found. */
export function merged(found: Order[], recent: Order[]): Order[] {
  const newer = new Set(recent.map((order) => order.order_id));
  return [...recent.filter(isOpen), ...found.filter((order) => !newer.has(order.order_id))];
}

/** What the search has not seen, in words; "" if it has seen all. */
export function gapWords({ seen, of, problem }: Search): string {
  if (problem && seen === 0) return `The orders could not be read: ${problem}. Check the exchange.`;
  if (seen >= of) return "";
  return `Among the newest ${count(seen)} of ${count(of)} orders${problem && `, because ${problem}`}. Check the exchange for older ones.`;
}
