// The board: what was packed or submitted, where it stands, what it lacks, who must sign, and whether the log that this
// host remembers has it. Nothing can be changed here.
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Copy } from "../../panels/copy.tsx";
import { Icon } from "../../panels/icon.tsx";
import { address } from "../../state/address.ts";
import { called, strategies } from "../../state/store.ts";
import * as f from "../../state/format.ts";
import { fragment } from "../../state/route.ts";
import { useAnswer, type Asked } from "../answer.ts";
import { Facts, Heading, MarkSign, Refusal, Section, States, useLists } from "../kit.tsx";
import type { Candidate, List, Missing, PromotionPlan, PromotionState, Reach, Reading } from "../shapes.ts";
import { age, aimOf, beside, columnOf, columns, heads, proof, signers, stateOf, type Column } from "./board.ts";
import { askOthers, type Shown } from "./others.ts";

/** How often the plane is asked again, and how many cards are drawn at first. */
const every = 30_000, atFirst = 24;

export function Governance() {
  const reach = useAnswer<Reach>("/governance", every), list = useAnswer<List<Candidate>>("/candidates?limit=200", every);
  return (
    <>
      <Heading>Governance board</Heading>
      <p class="caption">Candidates that <code>lab candidate pack</code> has put into the state directory of this service, what the control plane has of this service's strategies, and how far it lets each go. This page only shows: <code>lab</code> and <code>governance</code> act.</p>
      <States of={reach} what="control plane">{(r) => <Plane reach={r} />}</States>
      <States of={list} what="candidates">
        {(l) => (reach.answer.value.value ? <Board list={l} reach={reach.answer.value.value} /> : <></>)}
      </States>
    </>
  );
}

function Plane({ reach: r }: { reach: Reach }) {
  const kind = !r.configured ? "unconfigured" : r.reachable ? "reachable" : "unreachable", at = f.time(r.checked_at?.replace(/\.\d+/, ""));
  return (
    <Section name="Control plane">
      <p class="plane" role="status" data-state={kind}>
        <Icon name={{ unconfigured: "ring", reachable: "check", unreachable: "warn" }[kind] as "ring"} />
        {kind === "unconfigured" && <span>No control plane is configured: stages are not known. Start the service with <code>--control-url URL</code> and <code>--control-key governance.pub</code>.</span>}
        {kind === "unreachable" && <span><strong>The control plane does not answer</strong> at <bdi>{r.url}</bdi>: <bdi>{r.reason}.</bdi> {r.checked_at ? `What is shown is what it said last, ${at} UTC.` : "It has not answered since the service began."} It is asked again.</span>}
        {kind === "reachable" && <span><bdi>{r.url}</bdi> answers, {at} UTC.</span>}
      </p>
      {r.configured && (
        <p class="caption">
          {r.checkpoint
            ? <>This host remembers the first {f.count(r.checkpoint.size)} entries of the log <bdi>{r.checkpoint.origin}</bdi>, root <code title={r.checkpoint.root_sha256}>{f.shortId(r.checkpoint.root_sha256, 16)}</code><Copy text={r.checkpoint.root_sha256} what="root of the remembered log" /></>
            : "This host remembers no checkpoint of the log yet: the first question about real money pins it."}
        </p>
      )}
    </Section>
  );
}

type States = Map<string, Asked<Reading<PromotionState>>>;

function Board({ list, reach }: { list: List<Candidate>; reach: Reach }) {
  const all = useMemo(() => signal(false), []), wanted = fragment.value.get("candidate") ?? "";
  useLists();
  const names = reach.configured && strategies.value ? JSON.stringify([...new Set([...strategies.value, ...list.items.map((c) => ({ name: c.strategy_name }))].map((s) => s.name).filter(Boolean))]) : "";
  const others = useAnswer<Shown[]>(names, every, useMemo(askOthers, [])).answer.value, packed = new Set(list.items.map((c) => c.candidate_revision_id));
  // Of a list that is cut short it is not known what is packed elsewhere.
  const items: Shown[] = [...list.items, ...(list.items.length < list.total ? [] : (others.value ?? []).filter((c) => !packed.has(c.candidate_revision_id)))];
  const shown = all.value ? items : items.filter((c, i) => i < atFirst || c.candidate_revision_id === wanted);
  if (items.length === 0 && names && !others.value && !others.error) return <p class="panel none" role="status">Loading the candidates…</p>;
  if (items.length === 0) return <div class="panel none"><p>No candidate is packed yet: <code>lab candidate pack SLUG --submit</code> packs a run with its evidence and submits it.</p></div>;
  return (
    <>
      <Columns key={reach.configured + shown.map((c) => c.candidate_revision_id + c.verification).join()} shown={shown} configured={reach.configured} wanted={wanted} />
      {shown.length < items.length && <p class="toolbar"><button type="button" onClick={() => (all.value = true)}>Show all {f.count(items.length)}</button></p>}
      {list.items.length < list.total && <p class="caption">The newest {f.count(list.items.length)} of {f.count(list.total)}.</p>}
    </>
  );
}

/** Each card asks for its own state; where that puts it is known when the answer is there. */
function Columns({ shown, configured, wanted }: { shown: Shown[]; configured: boolean; wanted: string }) {
  const cards = shown.map((c) => ({ c, asked: useAnswer<Reading<PromotionState>>(configured && c.verification !== "packed" && c.verification !== "failed" ? stateOf(c.candidate_revision_id) : "", every) }));
  const of = (column: Column) => cards.filter(({ asked }) => columnOf(asked.answer.value.value?.document ?? null) === column);
  return (
    <div class="board">
      {columns.map((column) => {
        const here = of(column);
        if (here.length === 0 && (column === "ended" || column === "packed")) return null;
        return (
          <section key={column} class="panel section" aria-label={heads[column]} data-column={column}>
            <div class="group-head"><h3>{heads[column]}</h3><span>{f.count(here.length)}</span></div>
            {here.length === 0 && <p class="muted">{configured ? "No candidate." : "Not known."}</p>}
            <ul class="cards">
              {here.map(({ c, asked }) => <li key={c.candidate_revision_id}><Card of={c} asked={asked} configured={configured} wanted={c.candidate_revision_id === wanted} /></li>)}
            </ul>
          </section>
        );
      })}
    </div>
  );
}

function Card({ of: c, asked, configured, wanted }: { of: Shown; asked: Asked<Reading<PromotionState>>; configured: boolean; wanted: boolean }) {
  const { value: reading, error, loading } = asked.answer.value, id = c.candidate_revision_id, name = c.candidate_id || "Unreadable bundle";
  useEffect(() => {
    if (wanted) document.getElementById(id)?.scrollIntoView({ block: "center" });
  }, [wanted, id, reading === null]);
  return (
    <article id={id} class="card" aria-label={name} data-wanted={wanted || undefined} data-revision={id}>
      <h4><bdi>{name}</bdi></h4>
      <p class="caption"><code title={id}>{f.shortId(id, 14)}</code><Copy text={id} what="revision id" /> <bdi title={c.strategy_name}>{[called(c.strategy_name), c.symbols.join(", "), c.timeframes.join(", ")].filter(Boolean).join(" · ")}</bdi></p>
      {reading && <Judged of={c} reading={reading} />}
      {!reading && error && <p class="note wrong">{error.status === 404 ? "The control plane does not know this revision: it was submitted elsewhere." : <bdi>{error.message}</bdi>}</p>}
      {!reading && !error && configured && loading && c.verification !== "packed" && c.verification !== "failed" && <p class="muted">Loading the state…</p>}
      <Packed of={c} />
    </article>
  );
}

/** What this service knows by itself: the bundle, and the seal beside it. */
function Packed({ of: c }: { of: Shown }) {
  if (c.verification === "elsewhere") return <p class="proof" data-sign="open"><Icon name="ring" /><span>Packed elsewhere: this service has no bundle of it.</span></p>;
  const submit = `lab candidate pack ${c.slug} --candidate ${c.candidate_revision_id} --stage ${c.requested_stage} --submit`;
  const word = { packed: "Packed, not submitted.", sealed: "Bundle and seal are intact.", unchecked: "Submitted; its seal is not checked: that takes a key and a remembered log.", failed: "Not what was packed." }[c.verification];
  return (
    <>
      <p class="proof" data-sign={{ packed: "open", sealed: "good", unchecked: "open", failed: "bad" }[c.verification]}><Icon name={({ packed: "ring", sealed: "check", unchecked: "ring", failed: "cross" } as const)[c.verification]} /><span>{word}</span></p>
      {c.problems.length > 0 && <ul class="notes">{c.problems.map((p) => <li key={p}><bdi>{p}</bdi></li>)}</ul>}
      {c.verification === "packed" && <p class="repeat"><code><bdi>{submit}</bdi></code><Copy text={submit} what={`command that submits ${c.candidate_id}`} /></p>}
      {c.candidate_id && (
        <details>
          <summary>Bundle</summary>
          <Facts of={[["Asked for", <>{c.requested_stage} until {f.time(c.expires_at)} UTC</>], ["Owner", <bdi>{c.owner}</bdi>], ["Change", f.words(c.change_class)], ["Runs", <>{c.run_ids.map((r) => <a key={r} href={address("run", r)}><bdi>{f.shortId(r, 16)}</bdi></a>)}</>]]} />
        </details>
      )}
    </>
  );
}

function Judged({ of: c, reading: { document: s, reachable, age_seconds, verified } }: { of: Shown; reading: Reading<PromotionState> }) {
  const shown = proof(verified), aim = aimOf(s), stopped = ["suspended", "rejected"].includes(s.stage_status);
  return (
    <>
      <p class={stopped ? "stopped" : undefined}><strong><bdi>{f.words(s.stage_status)}</bdi></strong> in <bdi>{s.stage}</bdi>{s.evidence_valid_until && `, evidence until ${f.time(s.evidence_valid_until)} UTC`}</p>
      {!reachable && <p class="stale">As of {age(age_seconds)}.</p>}
      <p class="proof" data-sign={shown.sign}><Icon name={({ good: "check", bad: "cross", open: "ring" } as const)[shown.sign]} /><bdi>{shown.text}</bdi></p>
      {s.open_incidents.length > 0 && <ul class="notes" aria-label="Open incidents">{s.open_incidents.map((i) => <li key={i.incident_id}><Icon name="warn" /> <bdi>{i.severity} incident {i.incident_id}: {i.reason}</bdi></li>)}</ul>}
      {s.shadow?.reason && s.stage !== "research" && <p class="caption">Days after the seal: <bdi>{s.shadow.reason}</bdi></p>}
      {s.shadow?.days_in_dispute && <p class="stale">{f.count(s.shadow.days_in_dispute)} {s.shadow.days_in_dispute === 1 ? "day" : "days"} in dispute: a second fetcher was given other candles.</p>}
      {s.shadow?.compared && <ul class="notes" aria-label="Runs beside their shadow">{s.shadow.compared.map((b) => <li key={b.run_id}><bdi>{beside(b)}</bdi></li>)}</ul>}
      {aim && <Towards revision={c.candidate_revision_id} name={c.candidate_id} stage={aim} now={s.stage} />}
    </>
  );
}

function Towards({ revision, name, stage, now }: { revision: string; name: string; stage: string; now: string }) {
  const subject = `/candidate_revision/${revision}/${stage}`;
  const plan = useAnswer<Reading<PromotionPlan>>("/governance/promotion-plans" + subject, every), missing = useAnswer<Reading<{ experiments: Missing[] }>>("/governance/pending-experiments" + subject, every);
  const { value, error } = plan.answer.value, left = missing.answer.value.value?.document.experiments;
  if (!value) return error ? <Refusal error={error} what="plan" /> : <p class="muted">Loading the plan…</p>;
  const { gates, approvals } = value.document;
  return (
    <>
      <p><bdi>{stage === now ? `To stay in ${stage}` : `To enter ${stage}`}</bdi>: {f.count(gates.filter((g) => ["pass", "waived", "not_applicable"].includes(g.verdict)).length)} of {f.count(gates.length)} gates</p>
      <p class="marks">{gates.map((g) => <MarkSign key={g.gate_id} id={g.gate_id} verdict={g.verdict} />)}</p>
      {left && left.length > 0 && (
        <details>
          <summary>Missing: {f.count(left.length)}</summary>
          <ul class="missing">
            {left.map((m) => (
              <li key={m.experiment_id}>
                <strong><bdi>{m.gate_id}</bdi></strong> {m.status}: <bdi>{m.sentence ?? m.reason}</bdi>
                {[...new Set([m.see_with, m.command, m.then])].map((line) => line && <span key={line} class="repeat"><code><bdi>{line}</bdi></code><Copy text={line} what={`command for ${m.gate_id}`} /></span>)}
              </li>
            ))}
          </ul>
        </details>
      )}
      <details>
        <summary>{approvals.missing ? `Signatures missing: ${f.count(approvals.missing)}` : "Signatures"}</summary>
        <ul class="notes" aria-label={`Who signs ${name}`}>{signers(approvals).map((line) => <li key={line}><bdi>{line}</bdi></li>)}</ul>
      </details>
    </>
  );
}
