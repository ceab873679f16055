// Import by drop: files are sent, the importer is asked first, and what it asks is answered here.
import { useSignal, type Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { ApiError, read, send } from "../../api/client.ts";
import type { components } from "../../gen/api.ts";
import * as f from "../../state/format.ts";
import { JobLine } from "../jobs.tsx";
import { Act, Done, Facts, Section } from "../kit.tsx";
import type { CandleReport, ImportReport, ImportRequest, Job, JobAnswer } from "../shapes.ts";
import { given, options, questionOf, saidBy, type Option, type Question } from "./options.ts";
import { stopped, upload, type Sending } from "./upload.ts";

type Form = Signal<Record<string, string>>;

/** The names of files by the ids under which they were sent. */
type Names = Map<string, string>;

/** A text of the importer, with files as people call them. */
const called = (text: string, names: Names) => [...names].reduce((text, [id, name]) => text.replaceAll(id, () => name), text);

const size = (bytes: number) => (bytes < 1 << 20 ? `${f.count(Math.ceil(bytes / 1024))} KiB` : `${f.ratio(bytes / (1 << 20), 1)} MiB`);

export function Import({ stored }: { stored: () => void }) {
  const files = useSignal<File[]>([]), sent = useRef(new Map<File, string>()).current, names = useRef<Names>(new Map()).current, over = useSignal(false), sending = useSignal<Sending | null>(null);
  const form: Form = useSignal<Record<string, string>>({}), merge = useSignal(false);
  const job = useSignal(""), outcome = useSignal<Job | null>(null);
  const renew = () => {
    job.value = "";
    outcome.value = null;
  };
  const choose = (list: FileList | null | undefined) => {
    if (!list?.length) return;
    files.value = [...list];
    form.value = { ...saidBy(files.value[0]?.name ?? ""), ...Object.fromEntries(Object.entries(form.peek()).filter(([, v]) => v)) } as Record<string, string>;
    renew();
  };
  const set = (name: string, value: string) => {
    form.value = { ...form.peek(), [name]: value };
    if (!outcome.peek()?.error) renew(); // a report is of what was asked
  };
  const ask = async (dry_run: boolean) => {
    renew();
    try {
      await deliver(files.value, sent, (s) => (sending.value = s));
      for (const [file, id] of sent) names.set(id, file.name);
      const body: ImportRequest = { upload_ids: files.value.map((x) => sent.get(x) ?? ""), options: given(form.value, merge.value), dry_run };
      job.value = (await send<JobAnswer>("POST", "/datasets/imports", body)).job.job_id;
    } catch (e) {
      if (stopped(e)) return;
      if ((e as ApiError).fields?.some((x) => x.pointer.startsWith("/upload_ids"))) sent.clear(); // it was kept for an hour: the next press sends it again
      throw e;
    } finally {
      sending.value = null;
    }
  };
  const ended = (ended: Job) => {
    outcome.value = ended;
    if (ended.kind !== "import" || ended.status !== "completed") return;
    files.value = [];
    sent.clear();
    stored();
  };
  const check = () => ask(true);
  const missing = files.value.length === 0 ? "Choose files first." : form.value.exchange?.trim() ? "" : "Name the exchange.";
  const asked = outcome.value && questionOf(outcome.value), report = outcome.value?.status === "completed" ? outcome.value.reports[0] : undefined;
  const field = (o: Option) => <Field key={o.name} of={o} form={form} set={set} />;
  const drop = (e: DragEvent) => {
    e.preventDefault();
    over.value = false;
    if (e.type === "drop") choose(e.dataTransfer?.files);
    else over.value = e.type === "dragover";
  };
  return (
    <Section name="Import files">
      <div class="drop" data-over={over.value || undefined} onDragOver={drop} onDragLeave={drop} onDrop={drop}>
        <label>Drop files of one series here, or choose them: CSV, text, JSON, Feather, Parquet, also .gz and .zip
          <input type="file" multiple onChange={(e) => choose(e.currentTarget.files)} />
        </label>
        {files.value.length > 0 && <ul aria-label="Chosen files">{files.value.map((x) => <li key={x.name}><bdi>{x.name}</bdi>, {size(x.size)}</li>)}</ul>}
      </div>
      <div class="fields">
        {options.filter((o) => !o.rare).map(field)}
        <details><summary>More options</summary><div class="fields">{options.filter((o) => o.rare).map(field)}</div></details>
        <label class="check"><input type="checkbox" checked={merge.value} onChange={(e) => { merge.value = e.currentTarget.checked; renew(); }} /> Join with the stored candles of this series</label>
        <p role="status">{sending.value ? `Sending ${sending.value.name}…` : missing}</p>
        {sending.value && <Away of={sending.value} />}
        <Act act={check} disabled={missing !== ""}>Check</Act>
        {job.value && !asked && <JobLine key={job.value} id={job.value} then={ended} />}
        {asked && <Asked of={asked} names={names} field={field} again={check} />}
        {report && <Report of={report} names={names} />}
        {report && !report.stored && <Act act={() => ask(false)} disabled={missing !== ""}>{`Import ${f.count(report.rows)} candles`}</Act>}
      </div>
    </Section>
  );
}

function Away({ of: { name, away, size: all, stop } }: { of: Sending }) {
  return (
    <div class="act">
      <Done label={`${name} sent`} done={away} of={all} />
      <span class="caption">{size(away)} of {size(all)}{away >= all && ": the service reads it"}</span> <button type="button" onClick={stop}>Stop sending</button>
    </div>
  );
}

/** Sends the files that were not sent yet. */
async function deliver(files: File[], sent: Map<File, string>, tell: (s: Sending) => void) {
  const { limits } = await read<components["schemas"]["Meta"]>("/meta");
  for (const file of files) {
    if (sent.has(file)) continue;
    if (file.size > limits.upload_bytes) throw new ApiError("BODY_TOO_LARGE", `${file.name} has more than ${size(limits.upload_bytes)}: import it with lab data import, or start the service with a larger --max-upload.`, 413);
    sent.set(file, (await upload(file, tell)).upload_id);
  }
}

function Field({ of: { name, label, choices, help }, form, set }: { of: Option; form: Form; set: (name: string, value: string) => void }) {
  const value = form.value[name] ?? "", change = (e: { currentTarget: { value: string } }) => set(name, e.currentTarget.value);
  return (
    <label>{label}
      {choices ? <select value={value} onChange={change}>{choices.map(([v, words]) => <option key={v} value={v}>{words}</option>)}</select> : <input value={value} onInput={change} autocomplete="off" spellcheck={false} />}
      {help && <span class="caption">{help}</span>}
    </label>
  );
}

/** A refusal of the importer as a question, with the field that answers it. */
function Asked({ of: { code, message, option, cases }, names, field, again }: { of: Question; names: Names; field: (o: Option) => preact.ComponentChildren; again: () => Promise<void> }) {
  return (
    <section class="panel none refusal question" aria-label="Question of the importer">
      <p role="alert"><strong>Nothing is stored yet.</strong> <bdi>{called(message, names)}</bdi> <code>{code}</code></p>
      {cases.length > 0 && <ul aria-label="Lines at fault">{cases.map((c, i) => <li key={i}><bdi>{names.get(c.file) ?? c.file}</bdi>, line {c.line}: <code><bdi>{c.text}</bdi></code></li>)}</ul>}
      {option ? field(option) : <p>Mend the file, or choose another one.</p>}
      <Act act={again}>Check again</Act>
    </section>
  );
}

function Report({ of, names }: { of: CandleReport; names: Names }) {
  const r = of.report as unknown as ImportReport;
  return (
    <section aria-label="Report of the importer">
      <p role="status"><strong>{of.stored ? "Stored." : "This would be stored."}</strong></p>
      <Facts of={[
        ["Series", <bdi>{`${of.symbol} ${of.timeframe} on ${of.exchange}`}</bdi>], ["Format", <bdi>{r.profile}</bdi>], ["Candles", f.count(of.rows)], ["From", f.time(of.first)], ["To", f.time(of.last)],
        ["Rows", `${f.count(r.rows_read)} read, ${f.count(r.skipped)} skipped, ${f.count(r.duplicates_dropped)} duplicates dropped, ${f.count(r.reordered)} reordered, ${f.count(r.ohlc_violations)} contradict themselves`],
        ["Gaps", `${f.count(r.gaps.gap_count)} with ${f.count(r.gaps.missing)} candles, the longest ${f.count(r.gaps.longest)}`], ["Calendar", of.calendar],
      ]} />
      {r.warnings.length > 0 && <ul class="warned" aria-label="Warnings">{r.warnings.map((w) => <li key={w.message}><bdi>{called(w.message, names)}</bdi> <code>{w.code}</code></li>)}</ul>}
    </section>
  );
}
