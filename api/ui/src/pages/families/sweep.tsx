// The form that plans a search and starts it: the question and the budget first, then the
// space, from the strategy's own schema.
import { useComputed, useSignal } from "@preact/signals";
import { send, type ApiError } from "../../api/client.ts";
import { fieldsOf } from "../../form/schema.ts";
import { address } from "../../state/address.ts";
import { count, words } from "../../state/format.ts";
import { go } from "../../state/route.ts";
import { called, exchanges, strategies } from "../../state/store.ts";
import { Refusal, Section, useLists } from "../kit.tsx";
import type { Search, SearchRequest } from "../shapes.ts";
import { sizeOf, tried, type Tried } from "./plan.ts";

const methods = ["grid", "random", "sobol", "lhs"] as const, objectives = ["sharpe_ratio", "total_return"] as const;

export function Sweep() {
  useLists();
  const form = useSignal<Record<string, string>>({ max_trials: "50", seed: "1", method: "grid", objective: "sharpe_ratio", timeframe: "1h", exchange: "sample", initial_cash: "10000" });
  const busy = useSignal(false), error = useSignal<ApiError | null>(null);
  const at = (name: string) => form.value[name] ?? "";
  const set = (name: string) => (e: { currentTarget: { value: string } }) => (form.value = { ...form.peek(), [name]: e.currentTarget.value });
  const strategy = strategies.value?.find((s) => s.name === at("strategy_name"));
  const fields = useComputed(() => {
    const chosen = strategies.value?.find((s) => s.name === form.value.strategy_name);
    return chosen ? fieldsOf(chosen.params_schema, chosen.default_params).filter((f) => !f.rest && !f.secret) : [];
  });
  const space: Record<string, Tried> = {}, fixed: SearchRequest["strategy_params"] = {}, wrong: string[] = [];
  for (const f of fields.value) {
    const text = at("space:" + f.name);
    if (text.trim() === "") continue;
    const values = tried(text);
    if (!values) wrong.push(f.title);
    else if (values.type === "choice" && values.values.length === 1) fixed[f.name] = values.values[0];
    else space[f.name] = values;
  }
  const size = Object.values(space).reduce((n, t) => n * sizeOf(t), 1);
  const missing = [
    !at("hypothesis").trim() && "a hypothesis", !(Number(at("max_trials")) >= 1) && "a budget of trials", !strategy && "a strategy",
    !at("symbols").trim() && "a symbol", Object.keys(space).length === 0 && "values of at least one parameter", wrong.length > 0 && `values that can be read for ${wrong.join(", ")}`,
  ].filter(Boolean);
  const start = async (e: Event) => {
    e.preventDefault();
    if (busy.value || missing.length > 0) return;
    busy.value = true;
    error.value = null;
    try {
      const body: SearchRequest = {
        strategy_name: at("strategy_name"), strategy_params: fixed, space, symbols: at("symbols").split(",").map((s) => s.trim()).filter(Boolean), timeframe: at("timeframe"), exchange: at("exchange"),
        start_date: at("start_date") || null, end_date: at("end_date") || null, initial_cash: Number(at("initial_cash")),
        method: at("method") as SearchRequest["method"], max_trials: Number(at("max_trials")), seed: Number(at("seed")), objective: { metric: at("objective"), direction: "max" }, hypothesis: at("hypothesis").trim(),
      };
      const answer = await send<Search>("POST", "/families", body);
      go(address("family", answer.plan_id));
    } catch (problem) {
      error.value = problem as ApiError;
    }
    busy.value = false;
  };
  const text = (label: string, name: string, help = "") => <label>{label} <input value={at(name)} onInput={set(name)} autocomplete="off" />{help && <span class="caption">{help}</span>}</label>;
  const choice = (label: string, name: string, of: readonly string[], none = "") => (
    <label>{label} <select value={at(name)} onChange={set(name)}>{none && <option value="">{none}</option>}{of.map((o) => <option key={o} value={o}>{name === "objective" ? words(o) : name === "strategy_name" ? called(o) : o}</option>)}</select></label>
  );
  return (
    <Section name="Plan a search">
      <form class="fields" aria-label="Plan a search" onSubmit={start}>
        <label>Hypothesis: why should this earn money, and what would show that it does not?
          <textarea rows={3} value={at("hypothesis")} onInput={set("hypothesis")} />
        </label>
        {text("Budget: trials at most", "max_trials", "Each trial counts, and raises what the best one has to show.")}
        {choice("Strategy", "strategy_name", (strategies.value ?? []).filter((s) => s.status === "available").map((s) => s.name), "choose")}
        {text("Symbols, between commas", "symbols", "BTC/USDT")}
        {choice("Exchange", "exchange", (exchanges.value ?? []).map((x) => x.id))}
        {text("Timeframe", "timeframe")}
        {text("From", "start_date", "Empty: from the first candle.")}
        {text("To", "end_date", "Empty: after the last candle. A window that reaches into the hold-out counts as a look at it.")}
        {text("Cash", "initial_cash")}
        {fields.value.length > 0 && (
          <fieldset class="fields">
            <legend>Space: a list (5, 10, 20) or a range (5..20 step 5); one value is fixed, empty keeps the default</legend>
            {fields.value.map((f) => <label key={f.name}><bdi>{f.title}</bdi> <input value={at("space:" + f.name)} placeholder={f.initial === undefined ? "" : JSON.stringify(f.initial)} onInput={set("space:" + f.name)} autocomplete="off" />{f.description && <span class="caption"><bdi>{f.description}</bdi></span>}</label>)}
          </fieldset>
        )}
        {choice("Method", "method", methods)}
        {choice("Objective", "objective", objectives)}
        {text("Seed", "seed")}
        <p role="status">{missing.length > 0 ? `Missing: ${missing.join("; ")}.` : `${count(size)} points in the space; at most ${count(Number(at("max_trials")))} are tried. The plan is registered before the first.`}</p>
        <button type="submit" class="primary" aria-disabled={busy.value || missing.length > 0}>{busy.value ? "Registering…" : "Register the plan and start"}</button>
        {error.value && <Refusal error={error.value} what="plan" />}
      </form>
    </Section>
  );
}
