// What the lab makes beside the service: falsifications, searches, imports and fetches.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { send } from "../api/client.ts";
import { Icon } from "../panels/icon.tsx";
import { address } from "../state/address.ts";
import { words } from "../state/format.ts";
import { useAnswer, type Asked } from "./answer.ts";
import { Act, Section } from "./kit.tsx";
import type { Job, JobAnswer, List } from "./shapes.ts";

export const isOver = (job: Job) => job.status !== "queued" && job.status !== "running";

/** How a job stands, in one line. */
function sentence({ kind, status, progress, error }: Job): string {
  const far = status === "running" && progress ? ` ${[`${progress.percent} %`, progress.text].filter(Boolean).join(", ")}` : "";
  const why = status === "interrupted" ? ": the service ended first, begin it again" : error ? `: ${error.message}` : "";
  return `${words(kind)} ${status}${far}${why}`;
}

const patience = { job: (job: Job) => (isOver(job) ? 0 : 1000), list: ({ items }: List<Job>) => (items.every(isOver) ? 0 : 2000) };

/** Whether people should see it: it goes on, or has not ended well since yesterday. */
const isNews = (job: Job) => !isOver(job) || (job.kind !== "import_check" && (job.status === "failed" || job.status === "interrupted") && (!job.ended_at || Date.now() - Date.parse(job.ended_at) < 86_400_000));

/** The jobs that wait, run or did not end well; nothing without any. */
export function JobsPanel() {
  const asked = useAnswer<List<Job>>("/jobs", patience.list);
  const shown = (asked.answer.value.value?.items ?? []).filter(isNews);
  if (shown.length === 0) return null;
  return (
    <Section name="Jobs">
      <ul class="jobs">{shown.map((j) => <li key={j.job_id}><One job={j} asked={asked} /></li>)}</ul>
    </Section>
  );
}

function One({ job, asked }: { job: Job; asked: Asked<unknown> }) {
  const cancel = async () => {
    await send<Job>("DELETE", "/jobs/" + encodeURIComponent(job.job_id));
    asked.again();
  };
  const { falsification, plan_id } = job.links;
  return (
    <>
      <Icon name={job.status === "failed" ? "cross" : job.status === "completed" ? "check" : job.status === "running" ? "dot" : "ring"} />
      <bdi>{sentence(job)}</bdi>
      {!isOver(job) && <Act act={cancel}>Cancel</Act>}
      {falsification && <a class="button" href={address("falsification", falsification)}>What it found</a>}
      {plan_id && <a href={address("family", plan_id)}>The search</a>}
    </>
  );
}

/** Follows one job to its end, and tells it. */
export function JobLine({ id, then }: { id: string; then?: (job: Job) => void }) {
  const asked = useAnswer<Job>("/jobs/" + encodeURIComponent(id), patience.job), job = asked.answer.value.value;
  const over = job !== null && isOver(job);
  useEffect(() => {
    if (over) then?.(job);
  }, [over]);
  return <p role="status" class="job">{job && <One job={job} asked={asked} />}</p>;
}

/** A button that attacks a run, and what becomes of it. */
export function Falsify({ run, full = false, children }: { run: string; full?: boolean; children: string }) {
  const job = useSignal("");
  const begin = async () => {
    job.value = (await send<JobAnswer>("POST", "/falsifications", { run_id: run, full })).job.job_id;
  };
  return <><Act act={begin}>{children}</Act>{job.value && <JobLine key={job.value} id={job.value} />}</>;
}
