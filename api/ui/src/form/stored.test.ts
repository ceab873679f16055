import { equal, test } from "../testing.ts";
import { parse } from "./stored.ts";

test("stored: what was written comes back", () => {
  const form = {
    strategy: "sma_cross", symbols: ["BTC/USDT"], timeframe: "1h", exchange: "", start: "2020-01-01", end: "x", cash: "1e4",
    params: { sma_cross: { fast: "12", list: ["a", "b"] } }, execution: { slippage_bps: "3" },
  };
  equal(parse(JSON.stringify(form)), form);
});

test("stored: what is odd is left out", () => {
  equal(parse(null), null);
  equal(parse("{"), null);
  equal(parse("[]"), null);
  equal(parse('"x"'), null);
  equal(parse('{"strategy":3,"symbols":["A/B",4],"cash":null,"mode":"live","params":{"s":{"a":1,"b":["x",2],"c":"y"},"t":[]},"execution":null}'), {
    symbols: ["A/B"], params: { s: { c: "y" }, t: {} }, execution: {},
  });
  equal(parse(JSON.stringify({ cash: "9".repeat(30000) })), { params: {}, execution: {} });
});
