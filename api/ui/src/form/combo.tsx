// A text input with suggestions: the ARIA combobox with a list box. Any text may be
// typed; what cannot be chosen is listed with its reason.
import { useSignal } from "@preact/signals";
import type { Ref } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Aria } from "./control.tsx";
import type { Offer } from "./offers.ts";

interface Props {
  aria: Aria;
  value: string;
  offers: readonly Offer[];
  placeholder?: string;
  input?: Ref<HTMLInputElement>;
  onInput: (text: string) => void;
  onPick: (value: string) => void;
  /** Enter without a marked suggestion; true if something was done. */
  onEnter?: () => boolean;
  onKey?: (e: KeyboardEvent) => void;
  onLeave?: () => void;
}

const most = 100;

export function Combo(p: Props) {
  const open = useSignal(false), filter = useSignal(""), active = useSignal(-1);
  const list = p.offers.filter((o) => !filter.value || (o.text ?? o.value).toLowerCase().includes(filter.value.toLowerCase())).slice(0, most);
  const shown = open.value && list.length > 0;
  const at = Math.min(active.value, list.length - 1);
  /** The list opens on what is already chosen. */
  const here = list.findIndex((o) => o.value === p.value);
  const listId = p.aria.id + "-list";

  const show = (mark = -1) => {
    open.value = true;
    active.value = mark;
  };
  const close = () => {
    open.value = false;
    active.value = -1;
    filter.value = "";
  };
  const pick = (offer: Offer | undefined) => {
    if (!offer || offer.reason) return;
    close();
    p.onPick(offer.value);
  };
  const move = (by: number) => {
    if (!shown) return show(here >= 0 ? here : by > 0 ? 0 : list.length - 1);
    active.value = (at + by + list.length) % list.length;
  };
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return p.onKey?.(e);
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      move(e.key === "ArrowDown" ? 1 : -1);
    } else if (e.key === "Escape" && shown) {
      e.preventDefault();
      close();
    } else if (e.key === "Enter" && shown && at >= 0) {
      e.preventDefault();
      pick(list[at]);
    } else if (e.key === "Enter" && p.onEnter?.()) {
      e.preventDefault();
      close();
    } else p.onKey?.(e);
  };

  return (
    <div class="combo">
      <input
        {...p.aria} ref={p.input} type="text" role="combobox" autocomplete="off" autocapitalize="off" spellcheck={false} placeholder={p.placeholder}
        aria-expanded={shown} aria-controls={listId} aria-autocomplete="list" aria-activedescendant={shown && at >= 0 ? `${listId}-${at}` : undefined}
        value={p.value} onKeyDown={key} onClick={() => show()}
        onInput={(e) => {
          filter.value = e.currentTarget.value.trim();
          show();
          p.onInput(e.currentTarget.value);
        }}
        onBlur={() => {
          close();
          p.onLeave?.();
          p.aria.onBlur();
        }}
      />
      <List id={listId} list={shown ? list : []} at={at} pick={pick} />
    </div>
  );
}

interface ListProps {
  id: string;
  list: readonly Offer[];
  at: number;
  pick: (offer: Offer) => void;
}

function List({ id, list, at, pick }: ListProps) {
  const marked = useRef<HTMLLIElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: "nearest" }), [at, list.length]);
  // A press on the list must not take the focus from the input.
  const stay = (e: Event) => e.preventDefault();
  return (
    <ul id={id} class="offers" role="listbox" aria-label="Suggestions" hidden={!list.length} onMouseDown={stay}>
      {list.map((o, i) => (
        <li
          key={o.value} id={`${id}-${i}`} ref={i === at ? marked : null} role="option" aria-selected={i === at} aria-disabled={o.reason ? "true" : undefined}
          onClick={() => pick(o)}
        >
          <bdi>{o.text ?? o.value}</bdi>
          {(o.reason || o.note) && <span class="caption">{o.reason || o.note}</span>}
        </li>
      ))}
    </ul>
  );
}
