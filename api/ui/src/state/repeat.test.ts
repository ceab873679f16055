import { ApiError } from "../api/client.ts";
import type { Results } from "../api/types.ts";
import { equal, ok, test } from "../testing.ts";
import { randomKey, repeated } from "./repeat.ts";
import { offlineSource, streamSource, Unavailable } from "./source.ts";

const lost = new ApiError("NETWORK", "", 0), refused = new ApiError("RUN_ALREADY_ACTIVE", "", 409);

/** Runs through what happens at each attempt; tells how many there were. */
async function attempts(...happens: (ApiError | "answer")[]): Promise<[number, unknown]> {
  let n = 0;
  const outcome = await repeated(async () => {
    const now = happens[n++];
    if (now instanceof ApiError) throw now;
    return now;
  }, async () => {}).catch((e) => e.code);
  return [n, outcome];
}

test("a lost answer is asked for again three times, a refusal never", async () => {
  equal(await attempts("answer"), [1, "answer"]);
  equal(await attempts(lost, lost, "answer"), [3, "answer"]);
  equal(await attempts(refused, "answer"), [1, "RUN_ALREADY_ACTIVE"]);
  equal(await attempts(lost, refused, "answer"), [2, "RUN_ALREADY_ACTIVE"]);
  equal(await attempts(lost, lost, lost, lost, "answer"), [4, "NETWORK"]);
});

test("idempotency keys are visible ASCII and differ", () => {
  const keys = new Set(Array.from({ length: 100 }, randomKey));
  equal(keys.size, 100);
  ok([...keys].every((k) => /^[0-9a-f]{32}$/.test(k)), "hexadecimal");
});

test("the stream is asked in the server's words", async () => {
  const asked: unknown[] = [];
  const source = streamSource(async (...question) => (asked.push(question), { items: [], of: 0, points: [], method: "none" }));
  await source.rows("trades", 5, 10);
  await source.series({ series: "candles", symbol: "A/B", from: 0, to: 1000, maxPoints: 7 });
  await source.series({ series: "equity" });
  equal(JSON.stringify(asked), JSON.stringify([
    ["rows", { table: "trades", offset: 5, limit: 10 }],
    ["series", { series: "candles", symbol: "A/B", from: "1970-01-01T00:00:00.000Z", to: "1970-01-01T00:00:01.000Z", max_points: 7 }, "candles A/B"],
    ["series", { series: "equity" }, "equity "],
  ]));
});

test("without a stream rows are those of the results", async () => {
  const results = { trades: [3, 4, 5].map((n) => ({ trade_id: `t-${n}` })), rows_total: { trades: 5 } } as unknown as Results;
  const ids = async (offset: number, limit: number) => (await offlineSource(results).rows("trades", offset, limit)).items.map((t) => t.trade_id);
  equal([await ids(0, 2), await ids(1, 9), await ids(5, 1), await ids(9, 1)], [["t-5", "t-4"], ["t-4", "t-3"], [], []]);
  for (const missing of [ids(3, 1), offlineSource(null).rows("trades", 0, 1), offlineSource(results).series({ series: "fills" })]) {
    ok(await missing.then(() => false, (e) => e instanceof Unavailable), "unavailable");
  }
});
