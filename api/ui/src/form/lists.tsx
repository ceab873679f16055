// The lists of strategies and exchanges, when the service does not give them.
import { computed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { RequestId } from "../panels/problem.tsx";
import { loadLists } from "../state/session.ts";
import { connection, listProblems } from "../state/store.ts";
import { Box } from "./box.tsx";

/** A service that does not answer at all has its own bar. */
const failing = computed(() => (connection.value.state === "down" ? [] : Object.entries(listProblems.value).filter(([, problem]) => problem)));

/** alert: whether this is the place that says it aloud. */
export function ListProblems({ alert }: { alert: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const list = failing.value;
  if (!list.length) return null;
  return (
    <Box box={box}>
      {/* What changes with each attempt stands outside, or it would be read each time. */}
      <div role={alert ? "alert" : undefined}>
        {list.map(([name, problem]) => problem && <p key={name}>The list of {name} could not be loaded: <bdi>{problem.error.message}</bdi></p>)}
      </div>
      {list.map(([name, problem]) => <RequestId key={name} error={problem?.error} />)}
      <p class="caption">Attempts so far: {Math.max(...list.map(([, problem]) => problem?.times ?? 0))}. The page goes on asking.</p>
      <div class="buttons"><button type="button" onClick={loadLists}>Retry</button></div>
    </Box>
  );
}
