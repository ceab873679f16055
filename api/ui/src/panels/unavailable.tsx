// The strategies that cannot be used, each with its reason.
import { computed } from "@preact/signals";
import { strategies } from "../state/store.ts";

export const unavailable = computed(() => strategies.value?.filter((s) => s.status !== "available") ?? []);

export function UnavailableList() {
  if (unavailable.value.length === 0) return null;
  return (
    <ul class="open-list">
      {unavailable.value.map((s) => <li key={s.name}><strong><bdi>{s.display_name || s.name}</bdi></strong> <code>{s.error?.code}</code> <bdi>{s.error?.message}</bdi></li>)}
    </ul>
  );
}
