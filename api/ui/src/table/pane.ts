// The moving part of a grid: scrolling, focus and keys. It reads the layout only in
// observers and handlers, and the components draw what its signals say.
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { headRow, travel } from "./keys.ts";
import { Slots } from "./slots.ts";
import { firstRow, type Cell, type Grid, type View } from "./view.ts";
import { Widths } from "./widths.ts";
import { keep, pageOf, reveal, roomFor, seen, windowOf, type Scroll, type Window } from "./window.ts";

/** Rows asked for beyond those that are seen. */
const ahead = 40;

/** A row in the DOM. */
export interface Drawn {
  place: number;
  row: number;
  slot: number;
}

export class Pane<R> {
  readonly columns = signal({ tracks: "", least: "" });
  readonly room = signal("");
  readonly window: ReadonlySignal<Window>;
  readonly rows: ReadonlySignal<Drawn[]>;
  readonly widths: Widths;
  readonly size = signal({ rowHeight: 28, viewport: 280 });
  private readonly top;
  private readonly slots = new Slots();
  private box: HTMLElement | null = null;
  private frame = 0;
  private total = 0;
  private natural = true;
  /** The active cell is to have the focus once it is drawn. */
  private grab = false;
  private inside = false;

  constructor(readonly grid: Grid<R>) {
    this.top = signal(grid.place.top);
    this.widths = new Widths(grid.columns as never, grid.quote);
    let last: Window = { first: 0, end: 0, height: 0, shift: 0 };
    this.window = computed(() => {
      const next = windowOf(this.scroll(grid.view.value, this.top.value));
      const same = next.first === last.first && next.end === last.end && next.height === last.height && next.shift === last.shift;
      return same ? last : (last = next);
    });
    this.rows = computed(() => this.drawn(grid.view.value, this.window.value, grid.active.value));
  }

  /** Begins to watch the element; call what it returns when it goes. */
  attach(box: HTMLElement, probe: HTMLElement): () => void {
    this.box = box;
    const measure = () => {
      const rowHeight = probe.getBoundingClientRect().height || 28;
      const viewport = Math.max(rowHeight, box.clientHeight - rowHeight);
      const now = this.size.peek();
      if (now.rowHeight !== rowHeight || now.viewport !== viewport) this.size.value = { rowHeight, viewport };
      const above = box.getBoundingClientRect().top + window.scrollY;
      this.room.value = roomFor(above, rowHeight, window.innerHeight, box.offsetHeight - box.clientHeight);
    };
    measure();
    box.scrollTo(this.grid.place.left, this.grid.place.top);
    const observer = new ResizeObserver(measure);
    for (const element of [box, probe, document.body]) observer.observe(element);
    addEventListener("resize", measure);
    return () => {
      observer.disconnect();
      removeEventListener("resize", measure);
      cancelAnimationFrame(this.frame);
      this.box = null;
    };
  }

  readonly onScroll = () => {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.read();
    });
  };

  readonly onKeyDown = (e: KeyboardEvent) => {
    if (e.altKey || e.metaKey || e.shiftKey) return;
    const { active, view, columns, sorting } = this.grid;
    const cell = active.peek(), at = this.placeOf(cell.row);
    if ((e.key === "Enter" || e.key === " ") && at >= 0) {
      e.preventDefault();
      this.grid.select(view.peek().row(at));
      return;
    }
    const to = travel(e.key, e.ctrlKey, { row: at, column: cell.column }, {
      rows: view.peek().total, columns: columns.length, page: pageOf(this.size.peek()), heads: !!sorting,
    });
    if (!to) return;
    e.preventDefault();
    this.go(to.row === headRow ? headRow : view.peek().row(to.row), to.column);
    if (to.row >= 0) this.show(to.row);
  };

  readonly onClick = (e: MouseEvent) => {
    const cell = (e.target as Element).closest<HTMLElement>("[role=gridcell]");
    const row = Number(cell?.parentElement?.dataset.row ?? -1);
    // Text that was marked to be copied is not a choice.
    if (!cell || row < 0 || getSelection()?.isCollapsed === false) return;
    this.go(row, [...(cell.parentElement?.children ?? [])].indexOf(cell));
    this.grid.select(row);
  };

  readonly onFocusIn = (e: FocusEvent) => {
    this.inside = true;
    const { active } = this.grid, target = e.target as HTMLElement;
    const head = target.closest<HTMLElement>("[data-head]")?.dataset.head, row = target.parentElement?.dataset.row;
    if (head !== undefined) active.value = { row: headRow, column: Number(head) };
    // From now on this row has the focus, also when others are seen first.
    else if (row !== undefined && active.peek().row === firstRow) active.value = { row: Number(row), column: active.peek().column };
  };

  readonly onFocusOut = () => (this.inside = false);

  /** Shows the first row: order or choice changed. */
  toTop() {
    if (this.box) this.box.scrollTop = 0;
    this.read();
  }

  /** After each drawing: focus, widths, and what is in view. */
  after() {
    const view = this.grid.view.peek();
    this.stay(view);
    const target = this.grid.target.peek();
    if (target >= 0) {
      this.grid.target.value = -1;
      this.show(view.index(target));
    }
    if (this.grab || (this.inside && document.activeElement === document.body)) this.focus();
    const columns = this.widths.changed();
    if (columns) this.columns.value = columns;
    const { first, end } = seen(this.scroll(view, this.top.peek()));
    this.grid.want?.(first - ahead, end + ahead);
  }

  /** The place on the screen of the active cell's row; of the first row seen, as long as there is none. */
  placeOf(row: number): number {
    if (row === headRow) return headRow;
    const view = this.grid.view.peek(), place = row === firstRow ? -1 : view.index(row);
    if (place >= 0 && place < view.total) return place;
    const { first, end } = this.window.peek();
    return Math.max(first, Math.min(end - 1, seen(this.scroll(view, this.top.peek())).first));
  }

  private scroll(view: View<R>, scrollTop: number): Scroll {
    return { rows: view.total, ...this.size.value, scrollTop };
  }

  private read() {
    if (!this.box) return;
    this.top.value = this.grid.place.top = this.box.scrollTop;
    this.grid.place.left = this.box.scrollLeft;
  }

  /** The window's rows, and the active one wherever it is: the Tab key and the focus need it. */
  private drawn(view: View<R>, w: Window, active: Cell): Drawn[] {
    const places: number[] = [];
    for (let i = w.first; i < w.end; i++) places.push(i);
    const at = active.row < 0 ? w.first : view.index(active.row);
    if (at >= 0 && at < w.first) places.unshift(at);
    else if (at >= w.end && at < view.total) places.push(at);
    const rows = places.map((place) => view.row(place));
    const slots = this.slots.assign(rows);
    return places.map((place, i) => ({ place, row: rows[i] as number, slot: slots[i] as number }));
  }

  private go(row: number, column: number) {
    this.grid.active.value = { row, column };
    this.grab = true;
    if (row === headRow) this.focus();
  }

  private show(place: number) {
    const view = this.grid.view.peek();
    if (!this.box || place < 0 || place >= view.total) return;
    const scroll = this.scroll(view, this.top.peek()), top = reveal(scroll, place);
    if (top === scroll.scrollTop) return;
    this.box.scrollTop = top;
    this.read();
  }

  /** Rows that came above leave what is seen in its place, unless the newest are seen. */
  private stay(view: View<R>) {
    const added = view.total - this.total;
    if (this.natural && view.natural && this.total > 0 && added > 0 && this.box && this.top.peek() > 0) {
      this.box.scrollTop = keep({ ...this.scroll(view, this.top.peek()), rows: this.total }, added);
      this.read();
    }
    this.total = view.total;
    this.natural = view.natural;
  }

  private focus() {
    const { row, column } = this.grid.active.peek();
    const line = row === headRow ? this.box?.querySelector(`[data-head="${column}"]`)
      : this.box?.querySelector(`[data-row="${this.grid.view.peek().row(this.placeOf(row))}"]`)?.children[column];
    if (!(line instanceof HTMLElement) || !this.box) return;
    this.grab = false;
    line.focus({ preventScroll: true });
    const from = line.offsetLeft + (row === headRow ? (line.parentElement?.offsetLeft ?? 0) : 0), to = from + line.offsetWidth;
    if (from < this.box.scrollLeft) this.box.scrollLeft = from;
    else if (to > this.box.scrollLeft + this.box.clientWidth) this.box.scrollLeft = to - this.box.clientWidth;
  }
}
