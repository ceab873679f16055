// What is run, where and over which time: the fields that every form has.
import { useComputed } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Exchange as Venue } from "../api/types.ts";
import { isolated } from "../state/bidi.ts";
import { exchanges } from "../state/store.ts";
import { takes } from "./basics.ts";
import { Chips } from "./chips.tsx";
import { Combo } from "./combo.tsx";
import { Control } from "./control.tsx";
import * as draft from "./draft.ts";
import { forget } from "./actions.ts";
import * as model from "./model.ts";
import { typed } from "./moment.ts";
import { exchangeReason, symbolOffers, timeframeOffers } from "./offers.ts";
import { edited } from "./outcome.ts";

export function Symbols() {
  const others = useComputed(() => symbolOffers(model.offering.value, draft.mode.value, model.quote.value));
  const help = model.strategy.value && `${takes(model.strategy.value)}, BASE/QUOTE`;
  return (
    <Control pointer="/symbols" label="Symbols" help={help} required>
      {(aria) => (
        <Chips
          aria={aria} values={draft.symbols.value} offers={others.value} separators={/[\s,;]+/} placeholder={draft.symbols.value.length ? "Add a symbol" : "BTC/USDT"}
          onChange={(values) => {
            edited("/symbols");
            draft.symbols.value = values;
          }}
        />
      )}
    </Control>
  );
}

export function Timeframe() {
  const offers = useComputed(() => timeframeOffers(model.offering.value, draft.symbols.value, draft.mode.value, model.strategy.value));
  const set = (value: string) => {
    edited("/timeframe");
    draft.timeframe.value = value;
  };
  return (
    <Control pointer="/timeframe" label="Timeframe" required>
      {(aria) => <Combo aria={aria} value={draft.timeframe.value} offers={offers.value} placeholder="1h" onInput={set} onPick={set} />}
    </Control>
  );
}

export function Exchange() {
  const all = exchanges.value ?? [], live = draft.mode.value === "live", chosen = model.exchange.value?.id ?? draft.exchange.value;
  const used = model.used.value;
  const set = (id: string) => {
    // What was typed for one exchange is not carried to another.
    forget(model.config.peek());
    edited("/exchange");
    draft.exchange.value = id;
  };
  return (
    <Control pointer="/exchange" label="Exchange" help={model.exchange.value?.comment} required={live}>
      {(aria) => (
        <select {...aria} value={chosen} onChange={(e) => set(e.currentTarget.value)}>
          <option value="" disabled={live}>{live ? "Choose one" : used && !chosen ? `Automatic: ${isolated(used.id)}` : "Automatic"}</option>
          {chosen && !all.some((e) => e.id === chosen) && <option value={chosen}>{isolated(chosen)}</option>}
          {all.map((e) => {
            const reason = exchangeReason(e, draft.mode.value, draft.symbols.value, draft.timeframe.value.trim());
            return <option key={e.id} value={e.id} disabled={reason !== "" && e.id !== chosen}>{nameOf(e)}{reason && ` (${reason})`}</option>;
          })}
        </select>
      )}
    </Control>
  );
}

/** The id first, because a narrow select cuts off the end. */
const nameOf = (e: Venue) => (e.name && e.name.toLowerCase() !== e.id ? `${isolated(e.id)} · ${isolated(e.name)}` : isolated(e.name || e.id));

export function Dates() {
  const range = model.range.value;
  return (
    <div class="pair dates">
      <Time pointer="/start_date" label="From" value={draft.start} placeholder={range ? typed(range.start) : "first candle"} />
      <Time pointer="/end_date" label="To" value={draft.end} placeholder={model.end.value || (range ? typed(range.end) : "last candle")} />
      <p id="dates-help" class="caption wide">
        Times in UTC; the end is excluded. {range ? `Candles from ${typed(range.start)} to ${typed(range.end)}. ${model.held.value ? `Those from ${typed(model.held.value)} on are held out: To is there unless you write a later time.` : "Leave empty for all."}` : "Leave empty for all data."}
      </p>
    </div>
  );
}

interface TimeProps {
  pointer: string;
  label: string;
  value: Signal<string>;
  placeholder: string;
}

/** Text, because date pickers speak the browser's language and time zone and lose what is half typed. */
function Time({ pointer, label, value, placeholder }: TimeProps) {
  return (
    <Control pointer={pointer} label={label} describedBy="dates-help">
      {(aria) => (
        <input
          {...aria} type="text" autocomplete="off" spellcheck={false} placeholder={placeholder} value={value.value}
          onInput={(e) => {
            edited(pointer);
            value.value = e.currentTarget.value;
          }}
        />
      )}
    </Control>
  );
}

export function Cash() {
  return (
    <Control pointer="/initial_cash" label="Cash" unit={model.quote.value} help={draft.cash.value.trim() ? undefined : "Empty = 10000."} inline>
      {(aria) => (
        <input
          {...aria} type="text" inputMode="decimal" autocomplete="off" class="number" placeholder="10000" value={draft.cash.value}
          onInput={(e) => {
            edited("/initial_cash");
            draft.cash.value = e.currentTarget.value;
          }}
        />
      )}
    </Control>
  );
}
