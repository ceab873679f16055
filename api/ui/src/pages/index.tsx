// Every page beside the runner, by its name in the address table. Together they are one
// script: what they share with the runner comes from its own.
import type { ComponentType } from "preact";
import type { PageName } from "../state/address.ts";
import "../main.tsx";
import { Compare } from "./compare/compare.tsx";
import { Data } from "./data/data.tsx";
import { FalsificationPage } from "./falsification/falsification.tsx";
import { Families } from "./families/families.tsx";
import { FamilyPage } from "./families/family.tsx";
import { Governance } from "./governance/governance.tsx";
import { Live } from "./live/live.tsx";
import { RunPage } from "./run/run.tsx";
import { Runs } from "./runs/runs.tsx";

/** What a page is given: the id of its address, "" where there is none. */
export interface PageProps {
  id: string;
}

export { MetricsPanel } from "../panels/metrics.tsx";

export const pages: Partial<Record<PageName, ComponentType<PageProps>>> = {
  runs: Runs, run: RunPage, compare: Compare, families: Families, family: FamilyPage, falsification: FalsificationPage,
  data: Data, governance: Governance, live: Live,
};
