import { equal, test } from "../../testing.ts";
import type { Job } from "../shapes.ts";
import { given, questionOf, saidBy } from "./options.ts";

const failed = (details: unknown): Job => ({ status: "failed", error: { code: "SYMBOL_REQUIRED", message: "Which?", details } }) as Job;

test("a refusal is a question with the option that answers it", () => {
  const asked = questionOf(failed({ flag: "--ohlc-violations", cases: [{ file: "upl_a", line: 3, text: "1,2" }] }));
  equal([asked?.option?.name, asked?.cases.length], ["ohlc_violations", 1]);
  equal(questionOf(failed({ flag: "FILE" }))?.option, undefined);
  for (const details of [null, {}, { flag: 1 }]) equal(questionOf(failed(details)), null);
  equal(questionOf({ status: "completed", error: null } as Job), null);
});

test("the name of a file may say what is in it", () => {
  equal(saidBy("BTC_USDT-1h.feather"), { symbol: "BTC/USDT", timeframe: "1h" });
  equal(saidBy("ETH_BTC-1Mo.json.gz"), { symbol: "ETH/BTC", timeframe: "1M" });
  for (const name of ["BTCUSDT-1h.csv", "candles.csv", "../A_B-1h.csv", ""]) equal(saidBy(name), {});
});

test("what is left empty is not given", () => {
  equal(given({ exchange: " here ", symbol: "", unknown: "x" }, true), { merge: true, exchange: "here" });
});
