// What the control plane says, read-only: who is at which stage, what is missing, who has to sign.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { time, words } from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { Facts, Heading, Section, States } from "../kit.tsx";

interface Plane {
  configured: boolean;
  reachable: boolean;
  checked_at: string | null;
  url?: string;
  error?: { code?: string; message: string } | string | null;
}

interface Verified {
  entry?: boolean | null;
  checkpoint?: boolean | null;
}

interface Member {
  candidate_revision_id: string;
  candidate_id: string;
  stage: string;
  capital: number;
  days: number;
  risk_share: number | null;
}

/** A document of the plane may stand under its name or be the answer itself. */
type Document<T> = T & { document?: T; verified?: Verified | null; as_of?: string };

const bare = <T,>(answer: Document<T>): T => answer.document ?? answer;
const subject = (id: string) => `candidate_revision/${encodeURIComponent(id)}`;
const stages = ["research", "paper", "canary", "live"];

export function Governance() {
  const asked = useAnswer<Plane>("/governance", 30_000);
  return (
    <>
      <Heading>Governance</Heading>
      <States of={asked} what="governance plane" empty={(plane) => (plane.configured ? null : <NotConfigured />)}>
        {(plane) => (
          <>
            {!plane.reachable && (
              <p class="panel warned" role="status">
                The control plane does not answer. {plane.checked_at ? `What is shown was last true at ${time(plane.checked_at)} UTC.` : "Nothing of it is known yet."}
              </p>
            )}
            {(plane.reachable || plane.checked_at) && <Board />}
          </>
        )}
      </States>
    </>
  );
}

function NotConfigured() {
  return (
    <>
      <p>This service knows no control plane. Start it with <code>--control-url</code> and <code>--control-key</code>.</p>
      <p>What a control plane is for: <a href="/docs/guide/governance">governance</a>.</p>
    </>
  );
}

function Board() {
  const asked = useAnswer<Document<{ members: Member[] }>>("/governance/portfolio", 30_000);
  const [chosen, choose] = useState("");
  return (
    <>
      <States of={asked} what="portfolio">
        {(answer) => {
          const { members } = bare(answer);
          return (
            <>
              <Proof of={answer.verified} />
              <div class="board">
                {stages.map((stage) => <Stage key={stage} stage={stage} members={members.filter((m) => m.stage === stage)} chosen={chosen} choose={choose} />)}
              </div>
            </>
          );
        }}
      </States>
      <Find choose={choose} />
      {chosen && <Candidate key={chosen} id={chosen} />}
    </>
  );
}

/** Whether the entry and the checkpoint of the log were verified by the service itself. */
function Proof({ of }: { of: Verified | null | undefined }) {
  const said = (what: string, v: boolean | null | undefined) => `${what} ${v === true ? "verified" : v === false ? "NOT valid" : "not checked"}`;
  const bad = of?.entry === false || of?.checkpoint === false;
  return <p class={bad ? "warned" : "caption"} role={bad ? "alert" : undefined}>{said("Entry", of?.entry)}, {said("checkpoint", of?.checkpoint)}.</p>;
}

interface StageProps {
  stage: string;
  members: Member[];
  chosen: string;
  choose: (id: string) => void;
}

function Stage({ stage, members, chosen, choose }: StageProps) {
  return (
    <Section name={`${words(stage)} (${members.length})`}>
      {members.length === 0 ? <p class="muted">None.</p> : (
        <ul class="cards">
          {members.map((m) => (
            <li key={m.candidate_revision_id}>
              <button type="button" aria-pressed={chosen === m.candidate_revision_id} onClick={() => choose(m.candidate_revision_id)}><code>{m.candidate_revision_id}</code></button>
              <span class="caption">candidate <code>{m.candidate_id}</code>, {m.days} days out of sample{m.capital > 0 && `, capital ${m.capital}`}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Find({ choose }: { choose: (id: string) => void }) {
  const find = (e: Event) => {
    e.preventDefault();
    const id = String(new FormData(e.currentTarget as HTMLFormElement).get("revision") ?? "").trim();
    if (id) choose(id);
  };
  return (
    <form class="toolbar" onSubmit={find}>
      <label>Another revision <input name="revision" type="search" class="mono" autocomplete="off" spellcheck={false} required /></label>
      <button type="submit">Show</button>
    </form>
  );
}

interface State {
  stage: string;
  stage_status: string;
  next_stage: string | null;
  suspended: boolean;
  assurance: string;
}

interface Experiment {
  experiment_id: string;
  stage: string;
  gate_id: string;
  kind: string;
  status: string;
  command?: string;
  reason?: string;
}

interface Gate {
  gate_id: string;
  kind: string;
  required: boolean;
  verdict: string;
  reason: string;
  why: string;
  waivable_by: string[];
}

function Candidate({ id }: { id: string }) {
  const state = useAnswer<Document<State>>("/governance/promotion-state/" + subject(id));
  const missing = useAnswer<Document<{ experiments: Experiment[] }>>("/governance/pending-experiments/" + subject(id));
  return (
    <Section name={`Revision ${id}`}>
      <States of={state} what="revision">
        {(answer) => {
          const s = bare(answer);
          return (
            <>
              <Facts of={[["Stage", `${s.stage}, ${words(s.stage_status)}`], ["Next", s.next_stage ?? "none"], ["Assurance", s.assurance], ["May start", s.suspended ? "no: suspended" : "yes"]]} />
              <Proof of={answer.verified} />
              {s.next_stage && <Gates id={id} stage={s.next_stage} />}
            </>
          );
        }}
      </States>
      <h4>Missing experiments</h4>
      <States of={missing} what="list" empty={(a) => (bare(a).experiments.length ? null : "None: every gate has what it asks for.")}>
        {(a) => <List items={bare(a).experiments.map((e) => [e.experiment_id, <><strong>{words(e.gate_id)}</strong> for {e.stage}: {e.status} {e.reason && <bdi>{e.reason}</bdi>} {e.command && <code>{e.command}</code>}</>])} />}
      </States>
    </Section>
  );
}

function Gates({ id, stage }: { id: string; stage: string }) {
  const asked = useAnswer<Document<{ verdict: string; plan_digest: string; gates: Gate[] }>>(`/governance/promotion-plans/${subject(id)}/${stage}`);
  return (
    <>
      <h4>For {stage}</h4>
      <States of={asked} what="plan">
        {(answer) => {
          const plan = bare(answer), open = plan.gates.filter((g) => g.required && !["pass", "waived", "not_applicable"].includes(g.verdict));
          if (!open.length) return <p>Every gate is passed.</p>;
          return <List items={open.map((g) => [g.gate_id, <><strong>{g.kind.includes("approval") ? "To sign: " : ""}{words(g.gate_id)}</strong> {g.verdict}: <bdi>{g.reason}</bdi>{g.waivable_by.length > 0 && <span class="muted"> Waivable by {g.waivable_by.join(" and ")}.</span>}</>])} />;
        }}
      </States>
    </>
  );
}

const List = ({ items }: { items: [string, ComponentChildren][] }) => <ul class="missing">{items.map(([key, item]) => <li key={key}>{item}</li>)}</ul>;
