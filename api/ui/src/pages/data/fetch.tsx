// Candles from an exchange.
import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../../api/client.ts";
import { loadLists } from "../../state/session.ts";
import { exchanges } from "../../state/store.ts";
import { JobLine } from "../jobs.tsx";
import { Act, Section } from "../kit.tsx";
import type { Job } from "../shapes.ts";

export function Fetch() {
  const form = useRef<HTMLFormElement>(null);
  const [job, setJob] = useState("");
  useEffect(() => {
    if (!exchanges.peek()) loadLists();
  }, []);
  const act = async () => {
    const text = (name: string) => String(new FormData(form.current!).get(name) ?? "").trim();
    const symbols = text("symbols").split(/[\s,]+/).filter(Boolean);
    const dates = Object.fromEntries(["from", "to"].map((name) => [name, text(name)]).filter(([, v]) => v));
    setJob((await send<Job>("POST", "/datasets/fetches", { exchange: text("exchange"), symbols, timeframe: text("timeframe"), ...dates })).job_id);
  };
  return (
    <Section name="Fetch from an exchange">
      <form ref={form} class="fields" onSubmit={(e) => e.preventDefault()}>
        <label>Exchange <input name="exchange" list="fetch-exchanges" autocomplete="off" /></label>
        <datalist id="fetch-exchanges">{exchanges.value?.map((e) => <option key={e.id} value={e.id} />)}</datalist>
        <label>Symbols <span class="caption">BASE/QUOTE, separated by commas</span><input name="symbols" autocomplete="off" /></label>
        <label>Timeframe <input name="timeframe" autocomplete="off" placeholder="1h" /></label>
        <label>From, UTC <input name="from" type="date" /></label>
        <label>To, UTC, excluded <input name="to" type="date" /></label>
        <Act act={act}>Fetch</Act>
      </form>
      {job && <JobLine id={job} />}
    </Section>
  );
}
