import { execution } from "../gen/contract.ts";
import { equal, test } from "../testing.ts";
import { applying } from "./execution.ts";
import { fieldsOf } from "./schema.ts";

const defaults = (profile: string | undefined, fees?: { maker: number; taker: number }) => {
  const names = ["profile", "fee_maker", "slippage_bps", "protect_from"];
  return applying(fieldsOf(execution), profile, fees).filter((f) => names.includes(f.name)).map((f) => f.initial);
};

test("execution: the defaults are those that apply", () => {
  equal(defaults(undefined), ["bar-v1", undefined, 5, "entry_candle"]);
  equal(defaults("", { maker: 0.0002, taker: 0.0004 }), ["bar-v1", 0.0002, 5, "entry_candle"]);
  equal(defaults('"bar-v1"'), ["bar-v1", undefined, 5, "entry_candle"]);
  equal(defaults('"compat:backtrader"', { maker: 0.0002, taker: 0.0004 }), ["bar-v1", 0.0002, undefined, undefined], "the profile's own are not known");
});
