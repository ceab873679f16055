// One run: the verdict first, then its numbers with their uncertainty, curves, rows, evidence.
import { useSignal } from "@preact/signals";
import { send } from "../../api/client.ts";
import { Copy } from "../../panels/copy.tsx";
import { Icon } from "../../panels/icon.tsx";
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { useAnswer, type Asked } from "../answer.ts";
import { Act, calledOf, Facts, Heading, MarkSign, plain, Section, States, Tiles } from "../kit.tsx";
import { Falsify } from "../jobs.tsx";
import { standing, stateOf } from "../governance/board.ts";
import type { Candidate, List, PromotionState, Reach, Reading, Run } from "../shapes.ts";
import { summary, toneOf } from "../runs/columns.tsx";
import { Charted } from "./chart.tsx";
import { Drawn } from "./curves.tsx";
import { Files, Log, Rows } from "./rows.tsx";
import { claims } from "./sentences.ts";
import { Splits } from "./splits.tsx";

export function RunPage({ id }: { id: string }) {
  const path = "/runs/" + encodeURIComponent(id), asked = useAnswer<Run>(path);
  return <States of={asked} what="run">{(run) => <Shown run={run} path={path} asked={asked} />}</States>;
}

interface Props {
  run: Run;
  path: string;
  asked: Asked<Run>;
}

function Shown({ run, path, asked }: Props) {
  const name = calledOf(run) || "Run";
  return (
    <>
      <Heading called={`${name} ${f.shortId(run.run_id, 18)}`}>{name}</Heading>
      <p class="caption"><code>{run.run_id}</code><Copy text={run.run_id} what="run id" /> <bdi>{[run.slug, (run.symbols ?? []).join(", "), run.timeframe, run.exchange].filter(Boolean).join(" · ")}</bdi>{run.window && ` · ${f.time(run.window.start)} to ${f.time(run.window.end)} UTC`}</p>
      <Verdict run={run} />
      {(run.warnings ?? []).length > 0 && <ul class="panel notes warned" aria-label="Warnings">{run.warnings?.map((w, i) => <li key={i}><Icon name="warn" /><bdi>{w.message}</bdi></li>)}</ul>}
      <Numbers run={run} />
      <Actions run={run} />
      {run.kind === "imported" ? <Drawn path={path} /> : <Charted run={run} path={path} />}
      <Splits run={run} path={path} asked={asked} />
      <Rows path={path} />
      <Evidence run={run} />
      <Tagged run={run} path={path} />
      <Files path={path} />
      <Log path={path} locked={run.splits.some((s) => s.status === "locked")} />
    </>
  );
}

function Verdict({ run }: { run: Run }) {
  return (
    <Section name="Verdict" aside={<span class="marks">{(run.verdict?.marks ?? []).map((m) => <MarkSign key={m.id} {...m} />)}</span>}>
      <ul class="claims">
        {claims(run).map((c) => <li key={c.name} data-sign={c.sign}><Icon name={({ good: "check", bad: "cross", open: "ring" } as const)[c.sign]} /><span><strong>{c.name}</strong> <bdi>{c.text}</bdi></span></li>)}
        <Promotion run={run.run_id} stage={run.stage} />
      </ul>
    </Section>
  );
}

/** Where the newest candidate stands that has the run in it; else the stage that the run was made in. */
function Promotion({ run, stage }: { run: string; stage: string }) {
  const packed = useAnswer<List<Candidate>>(`/candidates?limit=1&run_id=${encodeURIComponent(run)}`).answer.value.value?.items[0];
  const reach = useAnswer<Reach>(packed ? "/governance" : "").answer.value.value;
  const asks = packed && reach?.configured && packed.verification !== "packed";
  const state = useAnswer<Reading<PromotionState>>(asks ? stateOf(packed.candidate_revision_id) : "").answer.value;
  if (!packed) return <li data-sign="open"><Icon name="ring" /><span><strong>Promotion</strong> {stage ? `It was made in the stage ${stage}.` : "It is no candidate."}</span></li>;
  return (
    <li data-sign="open" data-promotion={state.value?.document.stage}>
      <Icon name="ring" />
      <span><strong>Promotion</strong> <bdi>{standing(packed, reach?.configured ?? false, state)}</bdi> <a href={address("governance") + "#candidate=" + packed.candidate_revision_id}>On the board</a></span>
    </li>
  );
}

function Numbers({ run }: { run: Run }) {
  const gain = summary(run, "total_return"), metrics = run.splits?.find((s) => s.role === run.basis)?.metrics ?? run.splits?.find((s) => s.metrics)?.metrics;
  const error = metrics?.sharpe_stderr, fees = metrics?.fees_paid;
  return (
    <Tiles name="Key numbers" tiles={[
      { label: "Return", value: f.signedPercent(gain), tone: toneOf(run, gain), note: `holding ${f.signedPercent(run.holding_return)}` },
      { label: "Max drawdown", value: f.percent(summary(run, "max_drawdown")) },
      { label: "Sharpe", value: f.ratio(summary(run, "sharpe_ratio")), note: [typeof error === "number" && `± ${f.ratio(error)}`, run.trials && `trial ${f.count(run.trials.position)} of ${f.count(run.trials.n)}`].filter(Boolean).join(", ") },
      { label: "Deflated Sharpe", value: f.percent(run.dsr, 1), note: "probability" },
      { label: "Win rate", value: f.percent(summary(run, "win_rate")) },
      { label: "Trades", value: f.count(summary(run, "total_trades")) },
      ...(typeof fees === "number" ? [{ label: "Fees", value: f.money(fees) }] : []),
    ]} />
  );
}

function Actions({ run }: { run: Run }) {
  const attackable = run.status === "completed" && (run.kind === "run" || run.mode === "backtest");
  return (
    <div class="toolbar panel">
      <a class="button" href={`/api/v1/runs/${encodeURIComponent(run.run_id)}/report.html`} target="_blank" rel="noopener">Tear sheet</a>
      {run.verdict && <a class="button" href={address("falsification", run.verdict.run_id ?? run.run_id)}>Falsification</a>}
      {run.plan_id && <a class="button" href={address("family", run.plan_id)}>Family</a>}
      {attackable && <Falsify run={run.run_id}>Falsify</Falsify>}
    </div>
  );
}

function Evidence({ run }: { run: Run }) {
  const hashes = Object.entries(run.hashes ?? {});
  const kin = ([["Base", run.lineage?.base ? [run.lineage.base] : []], ["Falsifications", run.lineage?.falsifications ?? []]] as [string, string[]][]).filter(([, ids]) => ids.length > 0);
  const links = (ids: string[]) => ids.map((id) => <a key={id} href={address("run", id)}>{f.shortId(id, 18)}</a>);
  return (
    <Section name="Parameters and evidence">
      <div class="evidence">
        <div><h4>Parameters</h4><Facts of={Object.entries(run.params ?? {}).map(([k, v]) => [k, <bdi>{plain(v)}</bdi>])} /></div>
        <div><h4>Hashes</h4><Facts of={[["Program", <Hash text={run.strategy?.sha256} what="program" />], ...hashes.map(([k, v]): [string, preact.ComponentChildren] => [f.words(k), [v].flat().map((hash) => <Hash key={hash} text={hash} what={k} />)])]} /></div>
        <div><h4>Assumptions</h4><ul class="notes">{(run.assumptions ?? []).map((n, i) => <li key={i}><bdi>{n.message}</bdi></li>)}</ul></div>
        {run.imported && <div><h4>Imported from <bdi>{run.imported.tool} {run.imported.version}</bdi></h4><Facts of={run.imported.files.map(({ name, sha256 }) => [name, <Hash text={sha256} what="file" />])} /></div>}
        {kin.length > 0 && <div><h4>Lineage</h4><Facts of={kin.map(([k, ids]) => [k, links(ids)])} /></div>}
        <details class="whole"><summary>Execution</summary><pre class="tail" tabIndex={0}>{JSON.stringify(run.execution, null, 2)}</pre></details>
      </div>
    </Section>
  );
}

const Hash = ({ text, what }: { text?: string | null; what: string }) => (text ? <><code title={text}>{f.shortId(text, 16)}</code><Copy text={text} what={`${what} hash`} /></> : <span>n/a</span>);

function Tagged({ run, path }: { run: Run; path: string }) {
  const tags = useSignal((run.tags ?? []).join(", ")), note = useSignal(run.note ?? ""), kept = useSignal(false), version = useSignal(run.note_version);
  const keepNote = async () => {
    const body = { tags: tags.value.split(",").map((t) => t.trim()).filter(Boolean), note: note.value };
    version.value = (await send<Pick<Run, "note_version">>("PUT", path + "/note", body, { "If-Match": `"${version.value}"` })).note_version;
    kept.value = true;
  };
  return (
    <Section name="Tags and note">
      <div class="fields">
        <label>Tags, between commas <input value={tags.value} onInput={(e) => { tags.value = e.currentTarget.value; kept.value = false; }} /></label>
        <label>Note <textarea rows={2} value={note.value} onInput={(e) => { note.value = e.currentTarget.value; kept.value = false; }} /></label>
        <Act act={keepNote}>Save</Act>
        <span role="status">{kept.value ? "Saved." : ""}</span>
      </div>
    </Section>
  );
}
