import { equal, test } from "../testing.ts";
import { drawingsOf } from "./looks.ts";

const plot = { title: "", pane: "", kind: "" as const, upper: "", levels: null, color: "" as const };

test("a series that the strategy does not plot is a line over the candles", () => {
  const d = drawingsOf(["average"], [], {}).get("average")!;
  equal([d.title, d.pane, d.kind, d.declared], ["average", "", "line", false]);
});

test("a level has its own value or that of a parameter", () => {
  const levels = [{ param: "oversold", value: 0, title: "" }, { param: "", value: 70, title: "high" }, { param: "gone", value: 1, title: "" }];
  const d = drawingsOf(["rsi"], [{ ...plot, series: "rsi", pane: "RSI", levels }], { oversold: 25 }).get("rsi")!;
  equal(d.levels, [{ title: "oversold", value: 25 }, { title: "high", value: 70 }]);
  equal(d.pane, "RSI");
});

test("the upper edge of a band is no series of its own", () => {
  const all = drawingsOf(["high", "low"], [{ ...plot, series: "low", kind: "band", upper: "high" }], {});
  equal([...all.keys()], ["low"]);
});

test("colours go by name, not by order", () => {
  const one = drawingsOf(["fast", "slow", "trend"], [], {}), other = drawingsOf(["trend", "slow", "fast"], [], {});
  for (const name of ["fast", "slow", "trend"]) equal(one.get(name)!.look, other.get(name)!.look);
  equal(new Set([...one.values()].map((d) => JSON.stringify(d.look))).size, 3);
});
