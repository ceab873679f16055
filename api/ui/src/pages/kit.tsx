// What every page is built of: its heading, the states of an answer, tables, tiles, marks.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { Icon, type IconName } from "../panels/icon.tsx";
import { address } from "../state/address.ts";
import { words } from "../state/format.ts";
import { title } from "../state/route.ts";
import { loadLists } from "../state/session.ts";
import { exchanges, strategies } from "../state/store.ts";
import type { Shown } from "./answer.ts";
import { shownOf } from "./falsification/order.ts";
import type { Row } from "./shapes.ts";

/** The heading of a page, which is also the title of the tab. */
export function Heading({ children, called }: { children: string; called?: string }) {
  useEffect(() => {
    title.value = called ?? children;
  }, [called, children]);
  return <h2 class="page-title"><bdi>{children}</bdi></h2>;
}

/** Asks for the strategies and exchanges, where nothing has yet. */
export function useLists() {
  useEffect(() => {
    if (!strategies.peek() || !exchanges.peek()) loadLists();
  }, []);
}

/** What the strategy of a run is called. */
export const calledOf = ({ strategy, slug }: Row) => strategy?.display_name || strategy?.name || slug;

export function Section({ name, children, aside }: { name: string; children: ComponentChildren; aside?: ComponentChildren }) {
  return (
    <section class="panel section" aria-label={name}>
      <div class="group-head"><h3>{name}</h3>{aside}</div>
      {children}
    </section>
  );
}

interface StatesProps<T> {
  of: Shown<T>;
  /** What the page calls the thing: "run". */
  what: string;
  /** Whether an answer has nothing to show, and what is said then. */
  empty?: (value: T) => ComponentChildren;
  children: (value: T) => ComponentChildren;
}

/** Shows an answer, or why there is none and what to do. What came before stays when a later attempt fails. */
export function States<T>({ of, what, empty, children }: StatesProps<T>) {
  const { value, error, loading } = of.answer.value;
  if (value === null) {
    if (error) return <Refusal error={error} what={what} again={of.again} />;
    return <p class="panel none" role="status">{loading ? `Loading the ${what}…` : ""}</p>;
  }
  const nothing = empty?.(value);
  return (
    <>
      {error && <Refusal error={error} what={what} again={of.again} />}
      {nothing ? <div class="panel none">{nothing}</div> : children(value)}
    </>
  );
}

// NOT_FOUND is an address that the service does not have, not a thing.
const isMissing = (e: ApiError) => e.status === 404 && e.code !== "NOT_FOUND";

/** A refusal in words, with the way on. */
export function Refusal({ error, what, again }: { error: ApiError; what: string; again?: () => void }) {
  const state = error.lost ? "offline" : isMissing(error) ? "not-found" : error.code === "SPLIT_LOCKED" ? "locked" : "error";
  return (
    <div class="panel none refusal" role="alert" data-state={state}>
      <p>
        <strong>{{ offline: "The service does not answer.", "not-found": `There is no such ${what}.`, locked: "This is locked.", error: `The ${what} cannot be shown.` }[state]}</strong>{" "}
        {state === "offline" ? "It is asked again as soon as it is back." : <bdi>{error.message}</bdi>}{" "}
        {state === "error" && <code>{error.code}</code>}
      </p>
      {error.fields.length > 0 && <ul>{error.fields.map((f) => <li key={f.pointer}><code>{f.pointer}</code> <bdi>{f.message}</bdi></li>)}</ul>}
      {again && state !== "not-found" && state !== "locked" && <button type="button" onClick={again}>Try again</button>}
    </div>
  );
}

export interface Column<R> {
  key: string;
  head: string;
  number?: boolean;
  /** Whether the words stay on one line, as those of a time do. */
  tight?: boolean;
  cell: (row: R) => ComponentChildren;
  /** The name by which the service sorts, where it does. */
  sort?: string;
}

interface TableProps<R> {
  name: string;
  rows: R[];
  columns: Column<R>[];
  id: (row: R) => string;
  /** The present order, "-" in front for descending, and who changes it. */
  sort?: string;
  onSort?: (sort: string) => void;
  selected?: ReadonlySet<string>;
}

/** Where a page and a table in it stood, by the name of the table: what the browser keeps of an entry of its history. */
interface Left {
  [table: string]: { page: number; x: number; y: number };
}

/** A table that scrolls inside, and is found where it was left by a link when one comes back; on a phone each row is a card whose cells carry their heads. */
export function Table<R>({ name, rows, columns, id, sort = "", onSort, selected }: TableProps<R>) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const left = (history.state as Left | null)?.[name];
    if (!left) return;
    box.current?.scrollTo(left.x, left.y);
    scrollTo(0, left.page);
  }, []);
  const leave = ({ target, currentTarget: at }: { target: EventTarget | null; currentTarget: HTMLDivElement }) => {
    if (target instanceof Element && target.closest("a")) history.replaceState({ [name]: { page: scrollY, x: at.scrollLeft, y: at.scrollTop } } satisfies Left, "");
  };
  return (
    <div class="scroll" role="region" aria-label={`${name}, table`} tabIndex={0} ref={box} onClickCapture={leave}>
      <table class="list">
        <caption class="unseen">{name}</caption>
        <thead><tr>{columns.map((c) => <Head key={c.key} column={c} sort={sort} onSort={onSort} />)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)} data-id={id(row)} data-selected={selected?.has(id(row)) || undefined}>
              {columns.map((c) => <td key={c.key} data-head={c.head} class={c.number ? "number" : c.tight ? "tight" : undefined}>{c.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<R>({ column, sort, onSort }: { column: Column<R>; sort: string; onSort?: (sort: string) => void }) {
  const { sort: by, head, number } = column;
  if (!by || !onSort) return <th scope="col" class={number ? "number" : undefined}>{head}</th>;
  const down = sort === "-" + by, up = sort === by;
  return (
    <th scope="col" class={number ? "number" : undefined} aria-sort={down ? "descending" : up ? "ascending" : undefined}>
      <button type="button" class="quiet" onClick={() => onSort(down ? by : "-" + by)}>{head}{down ? " ↓" : up ? " ↑" : ""}</button>
    </th>
  );
}

export interface TileProps {
  label: string;
  value: string;
  tone?: string;
  note?: ComponentChildren;
}

export const Tiles = ({ name, tiles }: { name: string; tiles: TileProps[] }) => (
  <section aria-label={name}>
    <dl class="tiles">
      {tiles.map((t) => (
        <div key={t.label} class="panel tile">
          <dt>{t.label}</dt>
          <dd class={t.tone}>{t.value}</dd>
          {t.note && <dd class="aside">{t.note}</dd>}
        </div>
      ))}
    </dl>
  </section>
);

const signs: Record<string, IconName> = { pass: "check", fail: "cross", error: "cross", warn: "warn" };

/** One test's verdict: a sign and, for those who do not see it, words. */
export function MarkSign({ id, ...test }: { id: string; class?: string; verdict: string }) {
  const shown = shownOf(test);
  return (
    <span class={`verdict-mark ${shown}`} title={`${id}: ${shown}`} data-verdict={shown}>
      <Icon name={signs[shown] ?? "ring"} /><span class="unseen">{id}: {shown}. </span>
    </span>
  );
}

/** What falsification found, as a word and one mark for each test. */
export function Verdict({ row }: { row: Row }) {
  if (!row.verdict) return <span class="muted">not tested</span>;
  return (
    <span class="verdict">
      <a href={address("falsification", row.verdict.run_id ?? row.run_id)} class={`overall ${row.verdict.overall}`}>{words(row.verdict.overall)}</a>
      <span class="marks">{(row.verdict.marks ?? []).map((m) => <MarkSign key={m.id} {...m} />)}</span>
    </span>
  );
}

/** A button that is busy while it acts, with what went wrong below it. */
export function Act({ children, act, danger, disabled }: { children: string; act: () => Promise<void>; danger?: boolean; disabled?: boolean }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const press = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (e) {
      setError(e as ApiError);
    }
    setBusy(false);
  };
  return (
    <span class="act">
      <button type="button" class={danger ? "danger" : undefined} disabled={disabled} aria-disabled={busy} onClick={press}>{busy ? "…" : children}</button>
      {error && <span role="alert" class="note wrong"><bdi>{error.message}</bdi> <code>{error.code}</code></span>}
    </span>
  );
}

/** A bar of how much is done. */
export const Done = ({ label, done, of }: { label: string; done: number; of: number }) => (
  <div role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={of} aria-valuenow={done}>
    <svg class="bar-done" viewBox={`0 0 ${of} 1`} preserveAspectRatio="none" aria-hidden="true"><rect width={done} height={1} /></svg>
  </div>
);

/** A value of a parameter or setting as text. */
export const plain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value) ?? "");

export function Facts({ of }: { of: [name: string, value: ComponentChildren][] }) {
  return <dl class="rows">{of.map(([name, value]) => <div key={name}><dt><bdi>{name}</bdi></dt><dd>{value}</dd></div>)}</dl>;
}
