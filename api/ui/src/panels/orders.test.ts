import type { Order } from "../api/types.ts";
import { equal, test } from "../testing.ts";
import { gapWords, merged, search } from "./orders.ts";

const order = (n: number, status: string) => ({ order_id: `o-${n}`, status }) as Order;
const ids = (list: Order[]) => list.map((o) => o.order_id);

/** Orders n, n-1, …: those in open are open. last: as many can be had. */
function source(n: number, open: number[], last = n) {
  const asked: number[] = [];
  return {
    asked,
    rows: async (_: string, offset: number, limit: number) => {
      asked.push(offset);
      if (offset >= last) throw new Error("no stream");
      const items = Array.from({ length: Math.min(limit, last - offset) }, (_, i) => order(n - offset - i, open.includes(n - offset - i) ? "open" : "filled"));
      return { items, of: n };
    },
  } as never as { rows: never; asked: number[] };
}

test("an open order is found however old it is", async () => {
  const all = source(1200, [3, 1100]);
  const found = await search(all);
  equal([ids(found.open), found.seen, found.of, all.asked], [["o-1100", "o-3"], 1200, 1200, [0, 500, 1000]]);
  equal(gapWords(found), "");
  equal((await search(source(0, [], 1))).seen, 0);
});

test("what was not looked at is said", async () => {
  const part = await search(source(1200, [3, 1100], 500));
  equal(ids(part.open), ["o-1100"]);
  equal(gapWords(part), "Among the newest 500 of 1\u202f200 orders, because no stream. Check the exchange for older ones.");
  equal(gapWords(await search(source(5, [], 0))), "The orders could not be read: no stream. Check the exchange.");
  const many = await search(source(90_000, []));
  equal([many.seen, gapWords(many)], [20_000, "Among the newest 20\u202f000 of 90\u202f000 orders. Check the exchange for older ones."]);
});

test("what came since is newer", () => {
  equal(ids(merged([order(4, "open"), order(2, "open")], [order(5, "new"), order(4, "filled")])), ["o-5", "o-2"]);
});
