// What was tried to refute a run: failures first, each with a sentence, its evidence and
// the way to repeat it.
import { useSignal } from "@preact/signals";
import { send } from "../../api/client.ts";
import { Copy } from "../../panels/copy.tsx";
import { address } from "../../state/address.ts";
import { exact, shortId, words } from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { Act, Heading, MarkSign, Section, States } from "../kit.tsx";
import { JobLine, JobsPanel } from "../jobs.tsx";
import type { Falsification, Test } from "../shapes.ts";
import { conclusion, failuresFirst, sentenceOf } from "./order.ts";

export function FalsificationPage({ id }: { id: string }) {
  const asked = useAnswer<Falsification>("/falsifications/" + encodeURIComponent(id)), job = useSignal("");
  const again = async (full: boolean) => {
    const answer = await send<{ job_id?: string; job?: { job_id: string } }>("POST", "/falsifications", { run_id: asked.answer.value.value?.base ?? id, full });
    job.value = answer.job?.job_id ?? answer.job_id ?? "";
  };
  return (
    <>
      <Heading called={`Falsification ${shortId(id, 18)}`}>Falsification</Heading>
      <JobsPanel />
      <States of={asked} what="falsification">{(found) => <Shown found={found} id={id} />}</States>
      <div class="panel toolbar">
        <a class="button" href={address("run", asked.answer.value.value?.base ?? id)}>The run</a>
        <Act act={() => again(false)}>Try to refute it</Act>
        <Act act={() => again(true)}>Try with all tests</Act>
        {job.value && <JobLine id={job.value} />}
      </div>
    </>
  );
}

function Shown({ found, id }: { found: Falsification; id: string }) {
  return (
    <>
      <Section name="Conclusion"><p class="sentence"><bdi>{conclusion(found)}</bdi></p></Section>
      <ol class="tests" aria-label="Tests">
        {failuresFirst(found.tests).map((t) => <li key={t.id}><One test={t} id={found.run_id ?? id} /></li>)}
      </ol>
    </>
  );
}

function One({ test: t, id }: { test: Test; id: string }) {
  return (
    <section class="panel section" aria-label={t.id} data-verdict={t.verdict}>
      <h3><MarkSign id={t.id} verdict={t.verdict} /> {words(t.verdict)}: <bdi>{words(t.id)}</bdi></h3>
      <p><bdi>{sentenceOf(t)}</bdi></p>
      {t.note && <p><bdi>{t.note}</bdi></p>}
      {t.statistic && <p class="caption"><bdi>{words(t.statistic.name)}</bdi>: {exact(t.statistic.value, 4)}{t.statistic.threshold !== null && `, bound ${exact(t.statistic.threshold, 4)}`}</p>}
      {(t.evidence ?? []).length > 0 && (
        <p>Evidence: {t.evidence?.map((e) => (typeof e === "string" ? e : e.path)).map((name) => <a key={name} download href={`/api/v1/runs/${encodeURIComponent(id)}/files/${name.split("/").map(encodeURIComponent).join("/")}`}><bdi>{name}</bdi></a>)}</p>
      )}
      {t.repeat && <p class="repeat">Repeat: <code>{t.repeat}</code><Copy text={t.repeat} what={`command of ${t.id}`} /></p>}
    </section>
  );
}
