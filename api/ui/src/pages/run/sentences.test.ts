import { equal, ok, test } from "../../testing.ts";
import { claims } from "./sentences.ts";

type Judged = Parameters<typeof claims>[0];

const run: Judged = {
  mode: "backtest",
  status: "completed", partial: false, summary: { total_return: 0.5, sharpe_ratio: null, max_drawdown: null, total_trades: null, win_rate: null }, undefined: [], holding_return: 2, trials: null, dsr: null, test: { state: "none", looks: 0 },
  verdict: null, error: null, error_details: null,
};
const text = (more: Partial<Judged>, name: string) => claims({ ...run, ...more }).find((c) => c.name === name);

test("a gain below holding is said to be one", () => {
  equal(text({}, "Holding")?.sign, "bad");
  equal(text({ holding_return: 0.1 }, "Holding")?.sign, "good");
  equal(text({ holding_return: null }, "Holding")?.sign, "open");
  equal(text({ undefined: ["total_return"] }, "Holding")?.sign, "open");
});

test("a failed run comes first and is no evidence", () => {
  const [first] = claims({ ...run, status: "failed", error: "it crashed" });
  ok(first?.sign === "bad" && first.text.includes("it crashed"), "the failure");
});

test("what nobody has done is never a verdict", () => {
  equal(text({}, "Falsification"), { name: "Falsification", text: "No attempt to refute it is recorded.", sign: "open" });
  equal(text({ verdict: { run_id: "f", overall: "fail", marks: [{ id: "a", class: "G", verdict: "fail" }, { id: "b", class: "G", verdict: "pass" }, { id: "c", class: "W", verdict: "fail" }] } }, "Falsification")?.text, "This idea does not survive: 1 fail, 1 pass, 1 warn.");
  equal(text({ dsr: 0.4 }, "Luck")?.sign, "bad");
  equal(text({ test: { state: "locked", looks: 0 } }, "Test")?.sign, "open");
});

test("a paper run has no end that it could be stopped before", () => {
  equal(text({ partial: true }, "Run")?.sign, "bad");
  equal(text({ partial: true, mode: "paper" }, "Run"), { name: "Run", text: "Somebody has stopped it: it is evidence for the time that it ran.", sign: "open" });
});
