// The searches that were planned before they began, and the form that plans one.
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import { Heading, Section, States, Table, type Column } from "../kit.tsx";
import { JobsPanel } from "../jobs.tsx";
import type { Family, List } from "../shapes.ts";
import { idOf, progressWords, slugOf } from "./plan.ts";
import { Sweep } from "./sweep.tsx";

const columns: Column<Family>[] = [
  { key: "plan", head: "Plan", cell: (x) => <a href={address("family", idOf(x))}>{f.shortId(idOf(x), 18)}</a> },
  { key: "slug", head: "Strategy", cell: (x) => <bdi>{slugOf(x)}</bdi> },
  { key: "hypothesis", head: "Hypothesis", cell: (x) => <bdi>{x.plan?.hypothesis ?? ""}</bdi> },
  { key: "status", head: "Status", cell: (x) => x.status ?? "" },
  { key: "progress", head: "Trials", cell: progressWords },
  { key: "pbo", head: "PBO", number: true, cell: (x) => f.percent(x.pbo, 0) },
  { key: "sentence", head: "Finding", cell: (x) => <bdi>{x.sentence ?? ""}</bdi> },
];

export function Families() {
  const asked = useAnswer<List<Family>>("/families");
  return (
    <>
      <Heading>Families</Heading>
      <p class="caption">A family is a search whose question, space and budget were written down before its first trial.</p>
      <JobsPanel />
      <States of={asked} what="families" empty={({ items }) => items.length === 0 && <p>No search has been planned yet. Plan the first one below.</p>}>
        {({ items }) => <Section name="Planned searches"><Table name="Planned searches" rows={items} columns={columns} id={idOf} /></Section>}
      </States>
      <Sweep />
    </>
  );
}
