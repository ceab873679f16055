// What was tried to refute a run: failures first, each with a sentence, its evidence and
// the way to repeat it.
import { Copy } from "../../panels/copy.tsx";
import { address } from "../../state/address.ts";
import { exact, shortId, words } from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { Heading, MarkSign, Section, States } from "../kit.tsx";
import { Falsify } from "../jobs.tsx";
import type { Falsification, Test } from "../shapes.ts";
import { conclusion, failuresFirst, shownOf } from "./order.ts";

export function FalsificationPage({ id }: { id: string }) {
  const asked = useAnswer<Falsification>("/falsifications/" + encodeURIComponent(id));
  return (
    <>
      <Heading called={`Falsification ${shortId(id, 18)}`}>Falsification</Heading>
      <States of={asked} what="falsification">{(found) => <Shown found={found} id={id} />}</States>
    </>
  );
}

function Shown({ found, id }: { found: Falsification; id: string }) {
  return (
    <>
      <Section name="Conclusion">
        <p class="sentence"><bdi>{conclusion(found)}</bdi></p>
        {found.base && <div class="toolbar"><a class="button" href={address("run", found.base)}>The run</a><Falsify run={found.base} full>Falsify in full</Falsify></div>}
      </Section>
      <ol class="tests" aria-label="Tests">
        {failuresFirst(found.tests).map((t) => <li key={t.id}><One test={t} id={id} /></li>)}
      </ol>
    </>
  );
}

function One({ test: t, id }: { test: Test; id: string }) {
  const shown = shownOf(t);
  return (
    <section class="panel section" aria-label={t.id} data-verdict={shown}>
      <h3><MarkSign {...t} /> {words(shown)}: <bdi>{words(t.id)}</bdi></h3>
      <p><bdi>{t.sentence}</bdi></p>
      {t.note && shown !== "informs" && <p><bdi>{t.note}</bdi></p>}
      {t.statistic?.name && typeof t.value === "number" && <p class="caption"><bdi>{words(t.statistic.name)}</bdi>: {exact(t.value, 4)}{typeof t.bound === "number" && `, bound ${exact(t.bound, 4)}`}</p>}
      {(t.evidence ?? []).length > 0 && (
        <p>Evidence: {t.evidence?.map(({ path: name }, i) => <span key={name}>{i > 0 && ", "}<a download href={`/api/v1/runs/${encodeURIComponent(id)}/files/${encodeURIComponent(name)}`}><bdi>{name}</bdi></a></span>)}</p>
      )}
      {t.repeat && <p class="repeat">Repeat: <code>{t.repeat}</code><Copy text={t.repeat} what={`command of ${t.id}`} /></p>}
    </section>
  );
}
