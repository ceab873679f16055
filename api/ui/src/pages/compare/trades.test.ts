import type { Trade } from "../../api/types.ts";
import { equal, test } from "../../testing.ts";
import { share } from "./trades.ts";

const trade = (entry: number, exit: number, quantity = 1) => ({ symbol: "BTC/USDT", direction: "long", entry_time: `2024-01-0${entry}`, exit_time: `2024-01-0${exit}`, quantity }) as Trade;

test("trades are shared by when and what, not by size, and part where the first differs", () => {
  const { common, only, parted } = share([[trade(1, 2), trade(3, 5), trade(7, 8)], [trade(1, 2, 9), trade(3, 4)]]);
  equal([common, only], [1, [2, 1]]);
  equal(parted.map(({ run, trade }) => [run, trade.entry_time, trade.exit_time]), [[0, "2024-01-03", "2024-01-05"], [1, "2024-01-03", "2024-01-04"], [0, "2024-01-07", "2024-01-08"]]);
});
