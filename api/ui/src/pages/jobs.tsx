// What the service has started beside itself: sweeps, falsifications, imports.
import { send } from "../api/client.ts";
import { Icon } from "../panels/icon.tsx";
import { count, words } from "../state/format.ts";
import { useAnswer, type Asked } from "./answer.ts";
import { Act } from "./kit.tsx";
import type { Job, List } from "./shapes.ts";

export const isOver = (job: Job) => !["queued", "running"].includes(job.status);

function progressWords({ progress }: Job): string {
  if (typeof progress === "number") return `${Math.round(progress * 100)} %`;
  if (!progress) return "";
  return progress.text ?? (progress.total ? `${count(progress.done ?? 0)} of ${count(progress.total)}` : "");
}

const errorWords = ({ error }: Job) => (typeof error === "string" ? error : error?.message ?? "");

/** The jobs that wait, run or did not end well; nothing without any. */
export function JobsPanel() {
  const asked = useAnswer<List<Job>>("/jobs", 5000);
  const shown = (asked.answer.value.value?.items ?? []).filter((j) => j.status !== "completed" && j.status !== "cancelled");
  if (shown.length === 0) return null;
  return (
    <section class="panel section" aria-label="Jobs">
      <h3>Jobs</h3>
      <ul class="jobs">{shown.map((j) => <One key={j.job_id} job={j} asked={asked} />)}</ul>
    </section>
  );
}

function One({ job, asked }: { job: Job; asked: Asked<List<Job>> }) {
  const cancel = async () => {
    await send("DELETE", "/jobs/" + encodeURIComponent(job.job_id));
    asked.again();
  };
  return (
    <li>
      <span><Icon name={job.status === "failed" ? "cross" : job.status === "running" ? "dot" : "ring"} />{words(job.kind)}: {job.status} {progressWords(job)}</span>
      <bdi>{errorWords(job)}</bdi>
      {!isOver(job) && <Act act={cancel}>Cancel</Act>}
    </li>
  );
}

/** Follows one job to its end. */
export function JobLine({ id }: { id: string }) {
  const asked = useAnswer<Job>("/jobs/" + encodeURIComponent(id), 2000);
  const job = asked.answer.value.value;
  return <p role="status">{job ? `${words(job.kind)}: ${job.status} ${progressWords(job)} ${errorWords(job)}` : "The job is queued."}</p>;
}
