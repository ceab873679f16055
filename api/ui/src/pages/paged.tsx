// A list that is asked for page by page, so that a page has so many rows whatever the list has. Which page it
// is stands in the address.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import * as f from "../state/format.ts";
import { fragment, keep } from "../state/route.ts";
import { useAnswer, type Shown } from "./answer.ts";
import { States, Table, type Column } from "./kit.tsx";
import type { List } from "./shapes.ts";

/** The cursor of the page before, by that of a page: "" is the first. The service knows the way on only. */
const before = new Map<string, string>();

/** What the address has of the page of a list. Each list has names of its own: on the way from one to another both see the address. */
const pageAt = (what: string, page: string, cursor: string) => ({ [what + "-page"]: page, [what + "-cursor"]: cursor });
/** What leads back to the first page, as another question needs: it has other pages. */
export const firstPage = (what: string) => pageAt(what, "", "");

type Paging = Pick<List<unknown>, "next_cursor" | "total">;

interface Pages<T> {
  asked: Shown<T>;
  /** Differs between pages: what has it as its key begins at the top. */
  key: string;
  /** Which page it is, and the ways to others. */
  turn: (list: Paging) => ComponentChildren;
}

/** Asks for the page of a list that the address names. The page before stays until it is there. */
export function usePages<L extends Paging>(path: string, what: string, size = 50): Pages<L> {
  const cursor = fragment.value.get(what + "-cursor") ?? "", page = Number(fragment.value.get(what + "-page")) || 1;
  const { answer, again } = useAnswer<L>(`${path}${path.includes("?") ? "&" : "?"}limit=${size}${cursor && "&cursor=" + encodeURIComponent(cursor)}`);
  const last = useRef<L | null>(null);
  last.current = answer.value.value ?? last.current;
  // What is shown while another question is asked has cursors of the one before.
  const back = before.get(cursor), wait = answer.value.value === null;
  const turn = ({ next_cursor: next, total }: Paging) => {
    const way = (words: string, open: boolean, to: () => Record<string, string>) => <button type="button" aria-disabled={wait || !open} onClick={() => !wait && open && keep(to())}>{words}</button>;
    return (next || cursor) && (
      <p class="act" aria-busy={wait}>
        {way("First page", cursor !== "", () => firstPage(what))}
        {way("Earlier", back !== undefined, () => (back ? pageAt(what, String(page - 1), back) : firstPage(what)))}
        <span role="status">Page {f.count(page)} of {f.count(Math.ceil(total / size))}</span>
        {way("Further", next !== null, () => {
          before.set(next ?? "", cursor);
          return pageAt(what, String(page + 1), next ?? "");
        })}
      </p>
    );
  };
  return { asked: { answer: { value: { ...answer.value, value: last.current } }, again }, key: cursor, turn };
}

interface Props<R> {
  path: string;
  what: string;
  /** The thing that has them. */
  of: string;
  columns: Column<R>[];
  id: (row: R) => string;
  /** The order that the service is asked for, and who changes it, where it may be chosen. */
  sort?: string;
  onSort?: (sort: string) => void;
}

/** A table of one page. */
export function Paged<R>({ path, what, of, columns, id, sort, onSort }: Props<R>) {
  const { asked, key, turn } = usePages<List<R>>(path + (sort ? "?sort=" + sort : ""), what);
  return (
    <States of={asked} what={what} empty={({ items }) => items.length === 0 && <p>The {of} has no {what}.</p>}>
      {(list) => (
        <>
          <p class="caption">{f.count(list.total)} in all</p>
          <Table key={key} name={f.words(what)} rows={list.items} columns={columns} id={id} sort={sort} onSort={onSort} />
          {turn(list)}
        </>
      )}
    </States>
  );
}
