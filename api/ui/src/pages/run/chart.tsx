// The chart of an ended run: that of the runner, of what the run's folder holds.
import { useMemo } from "preact/hooks";
import { Chart } from "../../chart/chart.tsx";
import type { Subject } from "../../chart/subject.ts";
import { useAnswer } from "../answer.ts";
import { States } from "../kit.tsx";
import type { Run } from "../shapes.ts";
import { subjectOf } from "./subject.ts";

export function Charted({ run, path }: { run: Run; path: string }) {
  const asked = useAnswer<Subject>(path, 0, useMemo(() => subjectOf(run), [run.run_id]));
  return <States of={asked} what="chart" empty={(of) => of.equity.value.length === 0 && <p>The run has no equity curve.</p>}>{(of) => <Chart of={of} deep="h3" />}</States>;
}
