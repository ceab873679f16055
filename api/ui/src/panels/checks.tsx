// A chip per health check; a press opens what the check says.
import { computed, useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { lastKnown } from "../state/fresh.ts";
import { health } from "../state/store.ts";
import { chips, icons, type Chip } from "./health.ts";
import { Icon } from "./icon.tsx";
import { UnavailableList } from "./unavailable.tsx";

const shown = computed(() => chips(health.value));

export function Checks() {
  const open = useSignal("");
  const root = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (!open.value) return;
    const away = (e: Event) => {
      if (!root.current?.contains(e.target as Node)) open.value = "";
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("focusin", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("focusin", away);
    };
  }, [open.value]);
  if (shown.value.length === 0) return null;
  return (
    <ul ref={root} class="checks" aria-label="Health checks" data-stale={lastKnown.value || undefined}>
      {lastKnown.value && <li class="caption">Last known:</li>}
      {shown.value.map((chip) => (
        <Check key={chip.name} chip={chip} open={open.value === chip.name} toggle={() => (open.value = open.value === chip.name ? "" : chip.name)} />
      ))}
    </ul>
  );
}

function Check({ chip, open, toggle }: { chip: Chip; open: boolean; toggle: () => void }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const esc = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || !open) return;
    e.stopPropagation();
    toggle();
    button.current?.focus();
  };
  return (
    <li onKeyDown={esc}>
      <button ref={button} type="button" class={`badge ${chip.state}`} data-check={chip.name} aria-expanded={open} aria-controls={open ? id : undefined} onClick={toggle}>
        <Icon name={icons[chip.state]} />
        {chip.text}
        <span class="unseen"> ({{ pass: "ok", warn: "warning", fail: "failing" }[chip.state]})</span>
      </button>
      {open && (
        <div id={id} class="panel popover" role="group" aria-label={chip.name} tabIndex={0}>
          <p><bdi>{chip.message}</bdi></p>
          <dl class="facts">{chip.facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>)}</dl>
          {chip.name === "plugins" && <UnavailableList />}
        </div>
      )}
    </li>
  );
}
