// Above a paged table: filter, chips, how many rows, and the files.
import type { TargetedEvent } from "preact";
import { useEffect } from "preact/hooks";
import { address } from "../state/address.ts";
import { count } from "../state/format.ts";
import { ended, status } from "../state/store.ts";
import { announce } from "../state/view.ts";
import { mostArranged } from "./arrange.ts";
import type { Listed } from "./columns.ts";
import { Files } from "./files.tsx";
import type { TableModel } from "./model.ts";

export function Bar<R extends Listed>({ model }: { model: TableModel<R> }) {
  return (
    <div class="table-bar">
      <Filter model={model} />
      <Count model={model} />
      <Files name={model.name} many={model.spec.many} empty={model.view.value.total === 0} sheet={() => model.sheet()} />
    </div>
  );
}

/** Why a long table cannot be sorted and filtered. */
export const whyFixed = `Sorting and filtering work up to ${count(mostArranged)} rows`;

function Filter<R extends Listed>({ model }: { model: TableModel<R> }) {
  const { spec } = model, fixed = model.fixed.value;
  const words = model.words.value, chip = model.chip.value;
  useEffect(() => {
    if (!words && !chip) return;
    const timer = setTimeout(() => announce(shown(model)), 700);
    return () => clearTimeout(timer);
  }, [words, chip]);
  return (
    <>
      <input
        type="search" class="table-filter" aria-label={`Filter ${spec.many}`} placeholder="Filter" value={words} disabled={fixed}
        aria-describedby={fixed ? `why-${model.name}` : undefined} onInput={(e: TargetedEvent<HTMLInputElement>) => (model.words.value = e.currentTarget.value)}
      />
      <span class="table-chips" role="group" aria-label={`Only these ${spec.many}`}>
        {spec.chips.map(({ label }) => (
          <button
            key={label} type="button" aria-pressed={chip === label} disabled={fixed}
            onClick={() => (model.chip.value = chip === label ? null : label)}
          >
            {label}
          </button>
        ))}
      </span>
      {fixed && <span id={`why-${model.name}`} class="caption">{whyFixed}{ended.value ? <>; <a href={address("run", status.value.run_id) + "#table=" + model.name}>the page of the run</a> sorts any number.</> : "."}</span>}
    </>
  );
}

/** How many rows are shown, in words. */
function shown<R extends Listed>(model: TableModel<R>): string {
  const { spec, pages } = model, view = model.view.value;
  const all = `${count(pages.total)} ${pages.total === 1 ? spec.one : spec.many}`;
  if (!model.arranged || model.fixed.value) return all;
  if (view.natural) return `loading ${count(pages.loaded)} of ${all}…`;
  return view.total === pages.total ? all : `${count(view.total)} of ${all}`;
}

function Count<R extends Listed>({ model }: { model: TableModel<R> }) {
  model.version.value;
  const { error, known } = model.pages;
  return (
    <span class="caption">
      {known && shown(model)}{error && <span class="table-error"> Rows cannot be read: {error}. Trying again.</span>}
    </span>
  );
}
