// The cockpit of a paper or live run: whose money, what protects it, how much of the budgets is
// used, and everything that a person can do about it.
import { computed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Alarms } from "../../panels/alarms.tsx";
import { Controls } from "../../panels/controls.tsx";
import { Age, OpenOrders } from "../../panels/open.tsx";
import { askStop, stopping } from "../../panels/stop.ts";
import { address } from "../../state/address.ts";
import { exact, money, signedMoney, signedPercent, tone } from "../../state/format.ts";
import { stale } from "../../state/fresh.ts";
import { title } from "../../state/route.ts";
import { config, equity, exchanges, known, positions, quote, running, status, strategyName } from "../../state/store.ts";
import { useLists } from "../kit.tsx";
import { budgetsOf } from "./budget.ts";
import type { Budget } from "./budget.ts";

const mode = computed(() => status.value.mode);
const here = computed(() => running.value && (mode.value === "live" || mode.value === "paper"));
const venue = computed(() => exchanges.value?.find((e) => e.id === config.value?.exchange));
const play = computed(() => venue.value?.connector === "sim");
const budgets = computed(() => budgetsOf(config.value?.risk ?? null, equity.value, positions.value.map((p) => p.market_value), config.value?.initial_cash ?? 0));

export function Live() {
  useLists();
  useEffect(() => {
    title.value = here.value ? `${mode.value} ${strategyName.value}` : "Live";
  }, [here.value, mode.value, strategyName.value]);
  return (
    <>
      <h2 class="page-title">Live and paper</h2>
      {!known.value ? <p class="panel none">Waiting for the service…</p> : here.value ? <Cockpit /> : <Nothing />}
    </>
  );
}

function Nothing() {
  const ended = mode.value === "live" || mode.value === "paper";
  return (
    <p class="panel none">
      No paper or live run goes on. {ended && <>The last one is {status.value.status}: it is on the page of the <a href={address("runner")}>runner</a>. </>}
      {!ended && <>Start one on the page of the <a href={address("runner")}>runner</a>.</>}
    </p>
  );
}

function Cockpit() {
  return (
    <div class="cockpit" data-mode={mode.value} data-stale={stale.value || undefined}>
      <Money />
      <Alarms />
      <div class="cockpit-acts">
        <button type="button" class="danger" aria-disabled={stopping.value} onClick={askStop}>{stopping.value ? "Stopping…" : "Stop…"}</button>
        <Controls />
      </div>
      <Budgets />
      <Held />
      <section class="panel section" aria-label="Orders"><OpenOrders /></section>
    </div>
  );
}

/** The mode in colour and in words: no one is to mistake it. */
function Money() {
  const run = config.value, s = status.value;
  const words = mode.value === "paper" ? "Paper: no real money" : play.value ? "Live on a simulated exchange: no real money" : "Live: real money";
  return (
    <section class="panel money" data-mode={mode.value} aria-label="Mode and account">
      <p class="mode-word">{words}</p>
      <dl class="rows">
        <div><dt>Exchange</dt><dd><span>{venue.value ? <><bdi>{venue.value.name}</bdi> (<bdi>{venue.value.id}</bdi>)</> : <bdi>{run?.exchange || "not known"}</bdi>}</span></dd></div>
        <div><dt>Account</dt><dd><bdi>{mode.value === "paper" || play.value ? "made up by this service" : accountOf(run)}</bdi></dd></div>
        <div><dt>Strategy</dt><dd><span><bdi title={run?.strategy_name}>{strategyName}</bdi> on <bdi>{run?.symbols.join(", ")}</bdi>, {run?.timeframe}</span></dd></div>
        <div><dt>Phase</dt><dd>{s.phase || "not known"}</dd></div>
        <div><dt>Value</dt><dd>{money(s.value)} {quote.value} <span class={tone(s.pnl)}>{signedMoney(s.pnl)}</span></dd></div>
      </dl>
      <Age />
    </section>
  );
}

/** What the settings of the exchange call the account: never a secret, which the service does not send. */
function accountOf(run: typeof config.value): string {
  const settings = (run as { exchange_config?: Record<string, unknown> } | null)?.exchange_config ?? {};
  const named = ["account", "account_id", "subaccount"].map((key) => settings[key]).find((v) => typeof v === "string" && v !== "");
  return (named as string | undefined) ?? "the one of the credentials that the run was started with";
}

function Budgets() {
  const list = budgets.value;
  return (
    <section class="panel section" aria-label="Budgets">
      <h3>Budgets</h3>
      {list.length === 0 ? <p class="muted">The run has no limit of loss, drawdown or position.</p> : <ul class="gauges">{list.map((b) => <Gauge key={b.name} budget={b} />)}</ul>}
    </section>
  );
}

function Gauge({ budget: { name, used, limit, share } }: { budget: Budget }) {
  const level = share >= 1 ? "over" : share >= 0.75 ? "near" : "ok";
  const figure = share >= 1 ? "used up" : `${Math.round(share * 100)} % used`;
  const say = (v: number) => `${money(v)} ${quote.value}`;
  return (
    <li data-level={level}>
      <span>{name}</span>
      <meter min={0} max={1} high={0.75} value={Math.min(1, share)} aria-label={`${name}, ${figure}`} />
      <span class="number">{say(used)} of {say(limit)}, {figure}</span>
    </li>
  );
}

function Held() {
  const list = positions.value;
  return (
    <section class="panel section" aria-label="Positions">
      <h3>Positions and what protects them</h3>
      {list.length === 0 ? <p class="muted">None.</p> : (
        <ul class="held">
          {list.map((p) => (
            <li key={p.symbol} data-protected={p.stop_loss !== null}>
              <strong><bdi>{p.symbol}</bdi></strong>
              <span>{p.direction} {exact(p.quantity)} at {exact(p.average_entry_price)}, worth {money(p.market_value)} {quote.value}</span>
              <span class={tone(p.unrealized_pnl)}>{signedMoney(p.unrealized_pnl)}</span>
              <span class={p.stop_loss === null ? "down" : undefined}>
                {p.stop_loss === null ? "no stop loss works for it" : `stop loss at ${exact(p.stop_loss)} (${signedPercent(p.stop_loss / p.mark_price - 1)})`}
                {p.take_profit !== null && `, target at ${exact(p.take_profit)}`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
