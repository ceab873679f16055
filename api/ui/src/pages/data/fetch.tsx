// Candles from an exchange: the form that fetches, and the button that updates what came by it.
import { useSignal } from "@preact/signals";
import { send } from "../../api/client.ts";
import { exchanges } from "../../state/store.ts";
import { JobLine } from "../jobs.tsx";
import { Act, Section, useLists } from "../kit.tsx";
import type { Dataset, FetchRequest, Job, JobAnswer } from "../shapes.ts";
import { questionOf } from "./options.ts";

/** A button that fetches, what becomes of it, and what is asked where a candle was changed. */
function Fetching({ what, disabled, stored, children }: { what: () => FetchRequest; disabled?: boolean; stored: () => void; children: string }) {
  const job = useSignal(""), outcome = useSignal<Job | null>(null);
  const begin = (duplicates: FetchRequest["duplicates"]) => async () => {
    outcome.value = null;
    job.value = (await send<JobAnswer>("POST", "/datasets/fetches", { ...what(), duplicates })).job.job_id;
  };
  const ended = (ended: Job) => {
    outcome.value = ended;
    if (ended.reports.length > 0) stored();
  };
  return (
    <>
      <Act act={begin("")} disabled={disabled}>{children}</Act>
      {job.value && <JobLine key={job.value} id={job.value} then={ended} />}
      {outcome.value && questionOf(outcome.value)?.option?.name === "duplicates" && <><Act act={begin("first")}>Keep the stored candles</Act><Act act={begin("last")}>Take the fetched candles</Act></>}
    </>
  );
}

export const Update = ({ of: { exchange, symbol, timeframe }, stored }: { of: Dataset; stored: () => void }) => (
  <Fetching what={() => ({ exchange, symbols: [symbol], timeframe, from: null, to: null, duplicates: "" })} stored={stored}>Update</Fetching>
);

export function Fetch({ stored }: { stored: () => void }) {
  useLists();
  const form = useSignal<Record<string, string>>({ timeframe: "1h" });
  const at = (name: string) => (form.value[name] ?? "").trim(), set = (name: string) => (e: { currentTarget: { value: string } }) => (form.value = { ...form.peek(), [name]: e.currentTarget.value });
  const venues = (exchanges.value ?? []).filter((x) => x.connector !== "store" && x.connector !== "sim");
  const exchange = at("exchange") || (venues[0]?.id ?? ""), symbols = at("symbols").split(",").map((s) => s.trim()).filter(Boolean);
  const missing = [!exchange && "a connector", symbols.length === 0 && "a symbol", !at("timeframe") && "a timeframe", !at("from") && "the first day"].filter(Boolean);
  const text = (label: string, name: string, help: string) => <label>{label} <input value={form.value[name] ?? ""} onInput={set(name)} autocomplete="off" spellcheck={false} /><span class="caption">{help}</span></label>;
  if (exchanges.value && venues.length === 0) return <Section name="Fetch from an exchange"><p>No exchange has a connector here.</p></Section>;
  return (
    <Section name="Fetch from an exchange">
      <div class="fields">
        <label>Exchange <select value={exchange} onChange={set("exchange")}>{venues.map((x) => <option key={x.id} value={x.id}>{x.name}</option>)}</select></label>
        {text("Symbols, between commas", "symbols", "BTC/USDT")}
        {text("Timeframe", "timeframe", "1h")}
        {text("From", "from", "The first day, like 2024-01-01")}
        {text("To", "to", "Empty: all that are closed")}
        <p role="status">{missing.length > 0 ? `Missing: ${missing.join(", ")}.` : ""}</p>
        <Fetching what={() => ({ exchange, symbols, timeframe: at("timeframe"), from: at("from"), to: at("to") || null, duplicates: "" })} disabled={missing.length > 0} stored={stored}>Fetch</Fetching>
      </div>
    </Section>
  );
}
