// The state of one paged table: its rows, their order and choice, the selected row and
// where it was scrolled. It outlives the tab, so that coming back finds it as it was.
import { computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import type { TableName } from "../api/types.ts";
import { source, type RowTypes } from "../state/source.ts";
import { connection, ended, generation, recent, revision, running, selection } from "../state/store.ts";
import { arrange, matches, mostArranged, type Sort } from "./arrange.ts";
import { collect, type Progress } from "./collect.ts";
import { choose, type Choice } from "./choose.ts";
import type { Listed, Spec } from "./columns.ts";
import { beside, distance, locate, nearest } from "./locate.ts";
import { Pages, type Answer } from "./pages.ts";
import { mostSaved, type Sheet } from "./save.ts";
import { noCell, type Cell, type View } from "./view.ts";

/** While rows come they are read again this often, ms. */
const pace = 1000;
const link = computed(() => connection.value.state);

export class TableModel<R extends Listed> {
  readonly sort = signal<Sort | null>(null);
  readonly words = signal("");
  readonly chip = signal<string | null>(null);
  /** Counts changes of pages. */
  readonly version = signal(0);
  readonly selected = signal(-1);
  readonly active = signal<Cell>(noCell);
  /** A row to scroll to; -1 = none. */
  readonly target = signal(-1);
  readonly place = { top: 0, left: 0 };
  readonly pages: Pages<R>;
  readonly view: ReadonlySignal<View<R>>;
  /** Whether it is too long to be sorted and filtered. */
  readonly fixed: ReadonlySignal<boolean>;
  private order: number[] | null = null;
  private run = -1;
  private handled: Choice | null = null;
  private timer = 0;
  private last = -Infinity;

  constructor(readonly name: TableName, readonly spec: Spec<R>) {
    this.pages = new Pages<R>({
      // One table asks for rows of one kind only.
      load: (offset, limit) => this.load(offset, limit),
      open: spec.open,
      changed: () => this.version.value++,
      now: () => performance.now(),
      later: (ms, then) => {
        const id = setTimeout(then, ms);
        return () => clearTimeout(id);
      },
    });
    this.fixed = computed(() => this.version.value >= 0 && this.pages.total > mostArranged);
    this.view = computed(() => this.look());
  }

  /** Rows from the service, newest first. */
  load(offset: number, limit: number): Promise<Answer<R>> {
    return source.peek().rows(this.name, offset, limit) as Promise<unknown> as Promise<Answer<R>>;
  }

  /** Whether a sort or a choice is set. */
  get arranged(): boolean {
    return !!(this.sort.value || this.words.value.trim() || this.chip.value);
  }

  /** Keeps the table current until the function that it returns is called. */
  begin(): () => void {
    const stops = [
      effect(() => this.turn(generation.value)),
      effect(() => this.asks(source.value, link.value)),
      effect(() => this.stale(revision.value, running.value, ended.value)),
      effect(() => this.whole(this.arranged && !this.fixed.value)),
      effect(() => this.follow(selection.value)),
    ];
    return () => {
      for (const stop of stops) stop();
      clearTimeout(this.timer);
      this.timer = 0;
      this.pages.rest();
    };
  }

  /** Asks for the rows at the places first to end, unless all are here anyway. */
  want(first: number, end: number) {
    const { total } = this.pages;
    if (this.view.peek().natural) this.pages.want(total - end, Math.min(total, total - first));
  }

  /** Selects a row: the chart goes to its time. */
  select(row: number) {
    const value = this.pages.get(row);
    if (value === undefined) return;
    this.selected.value = row;
    this.handled = choose(value, this.spec);
  }

  /** What is shown, as a file. */
  sheet(): Sheet<R> {
    const { name, pages } = this, view = this.view.peek();
    const whole = !view.natural || pages.complete;
    const total = () => (whole ? view.total : pages.total);
    const rows = async (progress: (p: Progress) => boolean) =>
      whole ? Array.from({ length: view.total }, (_, i) => pages.get(view.row(i)) as R)
      : collect((offset, limit) => this.load(offset, limit), mostSaved, progress);
    return { name, fields: this.spec.fields, rows, total };
  }

  private look(): View<R> {
    this.version.value;
    const { pages } = this, get = (row: number) => pages.get(row);
    if (!this.arranged || pages.total > mostArranged) {
      this.order = null;
    } else if (pages.complete) {
      this.order = this.arrangedRows();
    }
    const order = this.order;
    if (!order) return { total: pages.total, row: (i) => pages.total - 1 - i, index: (row) => pages.total - 1 - row, get, natural: true };
    return { total: order.length, row: (i) => order[i] ?? -1, index: (row) => order.indexOf(row), get, natural: false };
  }

  private arrangedRows(): number[] {
    const rows = Array.from({ length: this.pages.total }, (_, i) => this.pages.get(i) as R);
    const chip = this.spec.chips.find((c) => c.label === this.chip.value);
    const words = this.words.value.trim();
    const pass = (row: R) => (!chip || chip.test(row)) && (!words || matches(this.spec.search(row), words));
    return arrange(rows, pass, this.sort.value, this.spec.columns);
  }

  /** Another run has another table. */
  private turn(run: number) {
    if (run === this.run) return;
    this.run = run;
    untracked(() => {
      this.order = null;
      this.pages.reset();
      this.sort.value = null;
      this.words.value = "";
      this.chip.value = null;
      this.selected.value = -1;
      this.active.value = noCell;
      this.target.value = -1;
      Object.assign(this.place, { top: 0, left: 0 });
      this.last = -Infinity;
      void this.pages.newest();
    });
  }

  /** What could not be had may be there now. */
  private asks(..._: unknown[]) {
    untracked(() => this.pages.retry());
  }

  private stale(..._: unknown[]) {
    if (this.timer) return;
    const wait = Math.max(0, this.last + pace - performance.now());
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      // A hidden tab draws nothing and asks for nothing.
      if (document.hidden) this.stale();
      else this.update();
    }, wait);
  }

  private update() {
    this.last = performance.now();
    this.pages.growing = running.peek();
    const below = this.place.top > 0 && this.view.peek().natural && this.pages.known;
    if (below) this.pages.grow(recent.peek().total[this.name]);
    this.pages.refresh(!below);
  }

  private whole(on: boolean) {
    untracked(() => this.pages.everything(on));
  }

  /** Selects the row nearest to a moment that was selected elsewhere. */
  private follow(choice: Choice | null) {
    if (choice === this.handled) return;
    this.handled = choice;
    if (choice) void untracked(() => this.find(choice.time, choice));
    else this.selected.value = -1;
  }

  private async find(time: number, choice: Choice) {
    try {
      if (!this.pages.known) await this.pages.newest();
      const row = await this.nearestTo(time, choice.symbol);
      if (this.handled !== choice || row < 0) return;
      this.selected.value = row;
      this.active.value = { row, column: this.active.peek().column };
      this.target.value = row;
    } catch {
      // The rows cannot be had now; the table says so itself.
    }
  }

  /** The row nearest to a moment: of the symbol, if there is one that has such rows around. */
  private async nearestTo(time: number, symbol = ""): Promise<number> {
    const { spec, pages, order } = this;
    if (!order) {
      const row = await locate(pages.total, async (row) => spec.span(await pages.row(row)), time);
      return beside(row, pages.total, async (i) => {
        const value = await pages.row(i);
        return { mine: !symbol || value.symbol === symbol, distance: distance(spec.span(value), time) };
      });
    }
    const of = (row: number) => pages.get(row) as R;
    const mine = order.filter((row) => of(row).symbol === symbol), rows = mine.length > 0 ? mine : order;
    return rows[nearest(rows.map((row) => spec.span(of(row))), time)] ?? -1;
  }
}

const models = new Map<TableName, unknown>();

/** The one model of a table. */
export function modelOf<T extends TableName>(name: T, spec: Spec<RowTypes[T]>): TableModel<RowTypes[T]> {
  const model = (models.get(name) as TableModel<RowTypes[T]> | undefined) ?? new TableModel(name, spec);
  models.set(name, model);
  return model;
}
