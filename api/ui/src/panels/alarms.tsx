// What the operator of a paper or live run has to know, the worst first.
import { computed } from "@preact/signals";
import type { Alarm } from "../api/types.ts";
import { count, time } from "../state/format.ts";
import { status } from "../state/store.ts";
import { operate } from "./controls.tsx";
import { Icon, type IconName } from "./icon.tsx";

const open = computed(() => status.value.alarms);

const icons: Record<Alarm["severity"], IconName> = { critical: "cross", error: "warn", warning: "ring" };

export function Alarms() {
  const list = open.value;
  if (list.length === 0) return null;
  return (
    <section class="panel alarms" aria-labelledby="alarms-title" data-worst={list[0]!.severity}>
      <h2 id="alarms-title">{list.length === 1 ? "1 open alarm" : `${count(list.length)} open alarms`}</h2>
      <ul>{list.map((a) => <One key={a.id} alarm={a} />)}</ul>
    </section>
  );
}

const acknowledge = (a: Alarm) =>
  operate({ action: "acknowledge", alarm_id: a.id }, `Acknowledge ${a.code}?`, `${a.text}. It stays open until it holds no more.`, "Acknowledge");

function One({ alarm: a }: { alarm: Alarm }) {
  return (
    <li data-severity={a.severity} data-alarm={a.code}>
      <span class="severity"><Icon name={icons[a.severity]} />{a.severity}</span>
      <span class="said"><code>{a.code}</code> <bdi>{a.text}</bdi></span>
      <span class="when">since {time(a.since)} UTC{a.count > 1 && <>, {count(a.count)} times, last {time(a.last)} UTC</>}{a.acknowledged && ", acknowledged"}</span>
      {!a.acknowledged && <button type="button" class="quiet" onClick={() => void acknowledge(a)}>Acknowledge</button>}
    </li>
  );
}
