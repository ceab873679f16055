// The searches that were planned before they began, and the form that plans one.
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { called } from "../../state/store.ts";
import { Heading, Section, States, Table, type Column } from "../kit.tsx";
import { JobsPanel } from "../jobs.tsx";
import { usePages } from "../paged.tsx";
import type { Family, List } from "../shapes.ts";
import { progressWords } from "./plan.ts";
import { Sweep } from "./sweep.tsx";

const columns: Column<Family>[] = [
  { key: "plan", head: "Plan", cell: (x) => <a href={address("family", x.plan_id)}>{f.shortId(x.plan_id, 18)}</a> },
  { key: "slug", head: "Strategy", cell: (x) => <bdi title={x.slug}>{called(x.slug)}</bdi> },
  { key: "author", head: "Author", cell: (x) => <bdi>{x.author}</bdi> },
  { key: "registered", head: "Registered", tight: true, cell: (x) => f.time(x.registered_at) },
  { key: "status", head: "Status", cell: (x) => x.status },
  { key: "progress", head: "Trials that ended", cell: progressWords },
];

export function Families() {
  const { asked, key, turn } = usePages<List<Family>>("/families", "families");
  return (
    <>
      <Heading>Families</Heading>
      <p class="caption">A family is a search whose question, space and budget were written down before its first trial.</p>
      <JobsPanel />
      <States of={asked} what="families" empty={({ items }) => items.length === 0 && <p>No search has been planned yet.</p>}>
        {(list) => <Section name="Planned searches"><Table key={key} name="Planned searches" rows={list.items} columns={columns} id={(x) => x.plan_id} />{turn(list)}</Section>}
      </States>
      <Sweep />
    </>
  );
}
