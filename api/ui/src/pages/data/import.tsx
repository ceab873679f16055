// Import by drop: the files are sent, read without being stored, and what the importer cannot
// know is asked; only then they are stored.
import { useRef, useState } from "preact/hooks";
import { send } from "../../api/client.ts";
import type { ApiError } from "../../api/client.ts";
import { count } from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { isOver, JobLine } from "../jobs.tsx";
import { Act, Facts, plain, Refusal, Section } from "../kit.tsx";
import type { Job } from "../shapes.ts";
import { upload } from "./upload.ts";
import type { Uploaded } from "./upload.ts";

/** What the importer may have to be told. */
const questions: { name: string; label: string; hint: string; options?: string[] }[] = [
  { name: "exchange", label: "Exchange", hint: "where the candles are from" },
  { name: "symbol", label: "Symbol", hint: "BASE/QUOTE" },
  { name: "timeframe", label: "Timeframe", hint: "such as 1h; empty: found in the file" },
  { name: "tz", label: "Time zone", hint: "of times without one, such as UTC" },
  { name: "stamp", label: "A time is that of", hint: "", options: ["", "open", "close"] },
  { name: "date_order", label: "Order of dates", hint: "", options: ["", "mdy", "dmy"] },
  { name: "columns", label: "Columns", hint: "of a file without heads" },
  { name: "ohlc_violations", label: "Impossible candles", hint: "", options: ["", "widen", "drop", "keep"] },
  { name: "duplicates", label: "Same time twice", hint: "", options: ["", "first", "last"] },
];

interface Answer extends Partial<Job> {
  report?: Record<string, unknown> | null;
  result?: Record<string, unknown> | null;
}

export function Import({ done }: { done: () => void }) {
  const [files, setFiles] = useState<Uploaded[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [dry, setDry] = useState<Answer | null>(null);
  const [job, setJob] = useState("");
  const form = useRef<HTMLFormElement>(null);

  const take = async (list: FileList | null | undefined) => {
    if (!list?.length || busy) return;
    setBusy(true);
    setError(null);
    setDry(null);
    setJob("");
    try {
      const sent: Uploaded[] = [];
      for (const file of list) sent.push(await upload(file));
      setFiles(sent);
    } catch (e) {
      setError(e as ApiError);
    }
    setBusy(false);
  };
  const ask = async (dryRun: boolean) => {
    const given = [...new FormData(form.current!)].map(([k, v]) => [k, String(v).trim()]).filter(([, v]) => v !== "");
    return send<Answer>("POST", "/datasets/imports", { upload_ids: files.map((f) => f.upload_id), options: Object.fromEntries(given), dry_run: dryRun });
  };
  const drop = (e: DragEvent) => {
    e.preventDefault();
    void take(e.dataTransfer?.files);
  };
  return (
    <Section name="Import">
      <div class="drop" onDragOver={(e) => e.preventDefault()} onDrop={drop}>
        <label>Drop files with candles here, or choose them <input type="file" multiple disabled={busy} onChange={(e) => void take(e.currentTarget.files)} /></label>
        {busy && <p role="status">Sending…</p>}
        {files.length > 0 && <ul class="missing">{files.map((f) => <li key={f.upload_id}><code>{f.sha256.slice(0, 12)}…</code> {count(f.bytes)} bytes</li>)}</ul>}
      </div>
      {error && <Refusal error={error} what="file" />}
      {files.length > 0 && (
        <form ref={form} class="fields" onSubmit={(e) => e.preventDefault()} onInput={() => setDry(null)}>
          {questions.map((q) => (
            <label key={q.name}>
              {q.label}{q.hint && <span class="caption"> {q.hint}</span>}
              {q.options ? <select name={q.name}>{q.options.map((o) => <option key={o} value={o}>{o || "not given"}</option>)}</select> : <input name={q.name} autocomplete="off" spellcheck={false} />}
            </label>
          ))}
          <div class="toolbar">
            <Act act={async () => setDry(await ask(true))}>Try without storing</Act>
            <Act disabled={!dry} act={async () => {
              setJob((await ask(false)).job_id ?? "");
              done();
            }}>Store</Act>
          </div>
        </form>
      )}
      {dry && (dry.job_id ? <Tried id={dry.job_id} /> : <Found report={dry.report ?? dry.result ?? {}} />)}
      {job && <JobLine id={job} />}
    </Section>
  );
}

/** What the trial found, once its job is over. */
function Tried({ id }: { id: string }) {
  const asked = useAnswer<Job & Answer>("/jobs/" + encodeURIComponent(id), 1000), job = asked.answer.value.value;
  if (!job || !isOver(job)) return <JobLine id={id} />;
  return <><JobLine id={id} /><Found report={job.report ?? job.result ?? {}} /></>;
}

function Found({ report }: { report: Record<string, unknown> }) {
  const facts = Object.entries(report).map(([name, value]): [string, string] => [name, plain(value)]);
  return facts.length ? <><h4>What the importer found; nothing is stored yet</h4><Facts of={facts} /></> : null;
}
