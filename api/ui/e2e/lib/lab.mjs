// Answers of the read API in its shape, with names that are markup: what the pages of the
// lab show must be text whatever it is.
export const hostile = `<img src=x onerror="document.title='broken in'"><b>bold</b>`;

const day = 86_400_000, begin = Date.UTC(2023, 0, 1);
const curve = (drift, n = 300) => Array.from({ length: n }, (_, i) => [begin + i * day, 10_000 * Math.exp(drift * i + 0.12 * Math.sin(i / 9))]);
const equity = (drift) => curve(drift).map(([ms, value]) => ({ timestamp: new Date(ms).toISOString(), equity: value, cash: 0, position_value: value, drawdown: 0.1 + 0.1 * Math.sin(ms / day / 9), exposure: 1 }));

const marks = ["pass", "fail", "warn", "inconclusive", "pass", "skipped"].map((verdict, i) => ({ id: ["costs", "delay", "regime", "random_entry", "missing_candles", "shuffle"][i], class: "G", verdict }));
export const rows = Array.from({ length: 7 }, (_, i) => ({
  run_id: `run_${i}_0123456789abcdef`, kind: "run", origin: "lab", mode: "", slug: "sma_cross", family_id: "fam", plan_id: i === 0 ? "plan_1" : null, trial_index: i, status: i === 3 ? "failed" : "completed", partial: false,
  strategy: { name: i === 1 ? hostile : "sma_cross", display_name: i === 1 ? hostile : "Moving average crossover", version: "1.0.0", sha256: "ab".repeat(32) }, params: { fast: 5 + i, [i === 1 ? hostile : "slow"]: 30 }, symbols: i === 0 ? ["BTC/USDT", "ETH/USDT"] : [i === 1 ? hostile : "BTC/USDT"], timeframe: "1h", exchange: "sample",
  window: { start: "2023-01-01T00:00:00.000Z", end: "2023-10-28T00:00:00.000Z" }, started_at: "2026-11-20T12:00:00.000Z", completed_at: "2026-11-20T12:00:09.000Z", basis: "full",
  summary: { total_return: 0.5 - i * 0.2, sharpe_ratio: 1.2 - i * 0.3, max_drawdown: 0.2 + i * 0.05, total_trades: 40 + i, win_rate: 0.4 }, undefined: [], holding_return: 0.8, trials: { n: 18, n_family: 7, position: i + 1 },
  dsr: 0.41, test: { state: i === 0 ? "locked" : "seen", looks: 1 }, verdict: i < 2 ? { run_id: "fal_" + i, overall: "fail", marks } : null, stage: "", tags: i === 1 ? [hostile] : ["trend"], note: i === 1 ? hostile : "", warnings: i === 1 ? [{ code: "X", message: hostile }] : [],
}));

const note = (message) => ({ code: "NOTE", message });
const run = (row) => ({
  ...row, seed: "1", execution: { profile: hostile }, walk_forward: null, stress: [], overfitting: null, note_version: 0,
  hashes: { request: "1a".repeat(32), result: "2b".repeat(32), decision: null, data: ["3c".repeat(32)] }, assumptions: [note("Orders are filled at the next open."), note(hostile)], error: row.status === "failed" ? hostile : null, error_details: null,
  splits: [
    { split_id: "full", role: "full", start: row.window.start, end: row.window.end, status: "completed", metrics: { ...row.summary, sharpe_stderr: 0.38, fees_paid: 311.5, buy_hold_return: 0.8 }, metrics_meta: null },
    { split_id: "test", role: "test", start: row.window.start, end: row.window.end, status: row.test.state === "locked" ? "locked" : "completed", metrics: null, metrics_meta: null },
  ],
  lineage: { base: null, falsifications: ["fal_1"], plan: row.plan_id },
});
const plot = (series, more) => ({ series, title: "", pane: "", kind: "line", upper: "", levels: [], color: "", ...more });
/** What the strategy declares and publishes: over the candles and in a pane, of every kind; what it does not declare is a line. */
const plots = [
  plot("fast", { title: hostile }), plot("low", { kind: "band", upper: "high", color: "muted" }), plot("cross", { kind: "marker", color: "up" }),
  plot("strength", { pane: hostile, levels: [{ param: "slow", value: 0, title: hostile }] }), plot("volume", { pane: "volume", kind: "histogram" }),
];
const series = Object.fromEntries(Object.entries({
  fast: ([ms, v]) => [ms, v * 1.03], low: ([ms, v]) => [ms, v * 0.9], high: ([ms, v]) => [ms, v * 1.1], strength: ([ms, v]) => [ms, 50 + (v % 30)], volume: ([ms, v]) => [ms, v % 7], [hostile]: ([ms, v]) => [ms, v * 0.95], cross: ([ms, v]) => [ms, v],
}).map(([name, at]) => [name, curve(0.001).map(at).filter((_, i) => name !== "cross" || i % 50 === 9)]));
const of = (name) => (name === "volume" ? "BTC/USDT" : null);
const published = (name) => ({
  ...list(Object.keys(series).map((name) => ({ name, symbol: of(name), pane: "", kind: "line", of: 7200 }))), split: "full", left_out: 12, name, symbol: name && of(name), pane: name && "", kind: name && "line", points: series[name] ?? [], of: 7200,
});
const candles = { symbol: hostile, timeframe: "1h", points: curve(0.001).map(([ms, v]) => [ms, v, v * 1.02, v * 0.97, v * (1 + 0.01 * Math.sin(ms)), 1]), of: 7200 };
const trade = (i) => ({
  trade_id: "t" + i, symbol: hostile, direction: "long", quantity: 0.5, entry_time: "2023-02-01T00:00:00.000Z", entry_price: 100 + i, exit_time: "2023-02-03T00:00:00.000Z", exit_price: 102, gross_pnl: 1, fees: 0.1, slippage: 0, pnl: i % 2 ? -1.2 : 2.3,
  return: 0.01, exit_reason: "signal", candles_held: 48, duration_seconds: 172800, mae: 0, mfe: 0, entry_tag: null, exit_tag: null, order_ids: [], ambiguous: false,
});
const trials = [5, 10, 15, 20].flatMap((fast, i) => [30, 50, 70].map((slow, j) => ({ index: i * 3 + j, run_id: `trial_${i}_${j}`, params: { fast, slow, [hostile]: i + j }, status: "completed", metrics: { sharpe_ratio: 0.2 + Math.sin(i + j), total_return: 0.1 * i - 0.1 * j, max_drawdown: 0.1 + 0.05 * j } })));
const family = {
  plan_id: "plan_1", plan_hash: "6f".repeat(32), slug: hostile, family_id: "fam", author: hostile, registered_at: "2026-11-20T12:00:00.000Z", amends: "", status: "completed", sentence: hostile, done: 12, failed: 0, progress: { done: 12, total: 12, failed: 0, eta_seconds: null },
  result: { status: hostile, selected: { trial_index: 3, run_id: "trial_1_0" }, walk_forward_optimised: { metrics: { total_return: -0.12, sharpe_ratio: -0.4 }, windows: [{ split_id: "wf-00", chosen_trial: null }] }, selection: { n_trials: 18, dsr_max: 0.31, pbo: { value: null } } },
  luck: { expected_max: 1.4, trials: 9.5 },
  plan: { hypothesis: hostile, seed: "1", trials: Array(12).fill({}), request: { symbols: [hostile] } },
};
const tests = marks.map(({ id, verdict }, i) => ({ id: i === 2 ? hostile : id, class: "GGWGGD"[i], claim: "it survives " + hostile, detail: verdict === "fail" ? "one candle later its return is negative" : hostile, verdict, statistic: { name: "return" }, sentence: "Not shown: that " + hostile, value: -0.2, bound: 0, repeat: "lab falsify " + hostile, evidence: [{ path: "falsify/delay.csv" }] }));
const dataset = (dataset_id, symbol, coverage, source) => ({
  dataset_id, exchange: hostile, symbol, timeframe: "1h", sha256: "5e".repeat(32), rows: 60_000, first: "2017-08-17T04:00:00.000Z", last: "2024-04-21T14:00:00.000Z", missing: 120, coverage, holdout_start: source === "bundled" ? "2022-12-19T00:00:00.000Z" : null,
  looks: 2, calendar: "24x7", provenance: { source, format: "csv", connector: null, derived_from: null, stored_at: "2026-11-20T12:00:00.000Z" },
});
const datasets = [dataset("a", "BTC/USDT", Array.from({ length: 200 }, (_, i) => (i % 40 ? 1 : 0.4)), "bundled"), dataset("b", hostile, [1, 0, 0.5, 1], "imported")];
const job = (status, more) => ({ job_id: "job_" + status, kind: "family", status, progress: null, queued_at: "2026-11-20T12:00:00.000Z", started_at: null, ended_at: null, error: null, links: { run_id: null, falsification: null, plan_id: "plan_1" }, reports: [], ...more });
const jobs = [job("queued"), job("running", { progress: { percent: 40, text: hostile, eta_seconds: 90 } }), job("failed", { error: { code: "RUN_FAILED", message: hostile, details: null } }), job("interrupted")];
const cr = (digit) => "cr-" + digit.repeat(64);
const stageOf = { [cr("1")]: ["research", "pending"], [cr("2")]: ["paper", "active"], [cr("3")]: ["canary", "suspended"], [cr("4")]: ["live", "active"], [cr("5")]: ["paper", "rejected"], [cr("9")]: ["paper", "active"] };
/** Of these the service has no bundle. */
const elsewhere = [cr("9")];
const next = { research: "paper", paper: "canary", canary: "live", live: null };
const candidate = (id, verification = "sealed") => ({
  candidate_revision_id: id, candidate_id: id === cr("2") ? "sma-cross.btc-usdt-1h" : hostile, family_id: hostile, slug: hostile, owner: hostile, strategy_name: hostile, symbols: [hostile], timeframes: ["1h"], parent_revision_id: null, change_class: "initial",
  requested_stage: "live", requested_at: "2026-11-20T12:00:00Z", expires_at: "2026-12-20T12:00:00Z", run_ids: ["run_0_0123456789abcdef"], verification, problems: verification === "failed" ? [hostile] : [],
});
const checkpoint = { origin: hostile, size: 1200, root_sha256: "7a".repeat(32), remembered: 1100 };
const reading = (document, ok = true) => ({ document, read_at: "2026-11-20T12:00:00.000Z", age_seconds: ok ? 0 : 5400, reachable: ok, reason: ok ? "" : hostile, verified: { ok, reason: ok ? "" : hostile, entry: ok ? { index: 6, type: "stage-decision/v1", leaf_sha256: "00" } : null, checkpoint: ok ? checkpoint : null } });
const gates = ["pass", "fail", "pending", "expired", "waived", "not_applicable", "pass"].map((verdict, i) => ({ gate_id: i === 1 ? hostile : "gate." + i, verdict, reason: hostile }));
const missing = [{ experiment_id: "pe-1", gate_id: hostile, stage: "canary", status: "missing", reason: hostile, command: "lab falsify sma-cross --candidate " + cr("2"), then: "lab candidate pack " + hostile, sentence: `Not shown: that ${hostile}.`, see_with: "lab report run_a" }];
const approvals = { required: [{ role: "risk", count: 1 }, { role: "any", count: 1 }], excluded: [hostile], granted: [{ principal: hostile, role: "risk" }], missing: 1 };

/** What the control plane says of a revision, by the parts of a path. */
function judged(kind, id) {
  if (kind === "promotion-state" && id === "sma_cross") return reading({ revisions: elsewhere.map((candidate_revision_id) => ({ candidate_revision_id, candidate_id: hostile, stage: "paper", stage_status: "active" })) });
  const [stage, stage_status] = stageOf[id] ?? [];
  if (!stage) return undefined;
  if (kind === "promotion-plans") return reading({ stage: next[stage], verdict: "fail", gates, approvals });
  if (kind === "pending-experiments") return reading({ experiments: missing });
  const open_incidents = stage_status === "suspended" ? [{ incident_id: hostile, severity: "critical", reason: hostile }] : [];
  return reading({ candidate_revision_id: id, stage, stage_status, next_stage: next[stage], assurance: "signed", evidence_valid_until: "2027-02-17T12:30:00Z", open_incidents, history: [], shadow: { reason: "not shown prospectively: " + hostile } }, id !== cr("4"));
}

const list = (items) => ({ items, next_cursor: null, total: items.length });
/** The first page of a longer list. */
const begun = (items) => ({ ...list(items), next_cursor: "next", total: 1234 });

/** The answer to a path below /api/v1; undefined where there is nothing. */
function answer(path, query) {
  const id = decodeURIComponent(path.split("/")[2] ?? ""), row = rows.find((r) => r.run_id === id), rest = path.split("/").slice(3).join("/");
  if (path === "/runs") return begun(rows);
  if (path === "/datasets") return list(datasets);
  if (path === "/jobs") return list(jobs);
  if (path === "/candidates") return list([...Object.keys(stageOf).filter((id) => !elsewhere.includes(id)).map((id) => candidate(id)), candidate(cr("6"), "packed"), candidate(cr("7"), "failed"), candidate(cr("8"))]);
  if (path === "/governance") return { configured: true, reachable: true, checked_at: "2026-11-20T12:00:00.000Z", url: hostile, reason: "", checkpoint };
  if (path.startsWith("/governance/")) return judged(path.split("/")[2], path.split("/")[4]);
  if (path === "/families") return begun([family]);
  if (path === "/families/plan_1") return family;
  if (path === "/families/plan_1/trials") return list(trials);
  if (path === "/falsifications/fal_0") return { run_id: "fal_0", base: rows[0].run_id, overall: "fail", refuted: [], tests };
  if (path === "/compare") {
    return {
      baseline: rows[0].run_id, split: "full", comparability: { comparable: false, differences: [{ aspect: hostile, values: {} }] },
      differs: [{ pointer: "/" + hostile, values: { [rows[0].run_id]: 5, [rows[1].run_id]: hostile } }],
      runs: rows.slice(0, 2).map(({ run_id, status, summary, trials, verdict }) => ({ run_id, status, metrics: summary, selection: { trials }, falsification: verdict })),
      program: { equal: false, diff: [{ run_id: rows[1].run_id, note: hostile, files: [{ path: hostile, diff: `--- a/${hostile}\n+++ b/${hostile}\n@@ -1,2 +1,2 @@\n package main\n-const fast = 10\n+const fast = 5 // ${hostile}\n`, note: hostile }] }] },
      pairs: [{ run_id: rows[1].run_id, mean_difference: 0.0004, ci95: [-0.001, 0.002], p: 0.4, days_needed: 4000, days: 300 }],
      trades: { common: 12, only: rows.slice(0, 2).map(({ run_id }) => ({ run_id, alone: 1, of: 13 })), differing: rows.slice(0, 2).map(({ run_id }, i) => ({ run_id, trade: trade(i) })), differing_total: 2, unread: [] },
    };
  }
  if (!path.startsWith("/runs/") || !row) return undefined;
  switch (rest) {
    case "": return run(row);
    case "equity": return { split: "full", items: equity(0.001), sampling: { method: "none", points: 300, of: 300 } };
    case "candles": return candles;
    case "series": return published(query.get("name"));
    case "fills": return list([]);
    case "marks": return { split: "full", points: [[Date.UTC(2023, 1, 1), 1, 0, 0], [Date.UTC(2023, 1, 3), 0, 1, 1]], of: 2 };
    case "trades": return list(Array.from({ length: 12 }, (_, i) => trade(i)));
    case "files": return list([{ name: hostile, sha256: "4d".repeat(32), size: 1234, media_type: "text/csv", locked: false }, { name: "splits/test/equity_curve.csv", sha256: "", size: 0, media_type: "text/csv", locked: true }]);
    case "log": return { ...begun([{ time: "2026-11-20T12:00:00.000Z", level: "warn", source: "plugin", message: hostile, fields: {} }]), cut: false };
  }
}

/** Answers what the pages of the lab ask for in the place of the service. */
export async function lab(visit, { fail } = {}) {
  await visit.context.route(/\/api\/v1\/strategies$/, async (route) => {
    const response = await route.fetch(), [first, ...rest] = await response.json();
    return route.fulfill({ response, json: [{ ...first, sha256: rows[0].strategy.sha256, plots }, ...rest] });
  });
  await visit.context.route(/\/api\/v1\/(runs|families|falsifications|compare|datasets|jobs|candidates|governance)/, (route) => {
    const { pathname, searchParams } = new URL(route.request().url()), path = pathname.replace("/api/v1", "");
    if (fail === "offline") return route.abort();
    const body = fail ? undefined : answer(path, searchParams);
    const [status, code] = fail ? [fail.status, fail.code] : [404, path.startsWith("/families") ? "FAMILY_NOT_FOUND" : "RUN_NOT_FOUND"];
    return route.fulfill(body === undefined ? { status, json: { error: { code, message: "There is nothing like this here.", details: {} } } } : { json: body });
  });
}
