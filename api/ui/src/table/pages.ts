// The rows of a table that have come, in pages. A row is known by its absolute index,
// counted from the oldest: new rows arrive at the other end, so old pages stay valid.
// Only pages in view are asked for; the least recently seen are forgotten.

export const pageSize = 200;
/** The service gives no more rows at once. */
export const mostRows = 500;
const mostPages = 50;
const mostFlights = 2;
/** Between two looks at what is in view: fast scrolling passes over the pages between. */
const spacing = 100;

export interface Answer<T> {
  items: T[];
  of: number;
}

export interface Env<T> {
  /** Rows, newest first. */
  load(offset: number, limit: number): Promise<Answer<T>>;
  /** Whether a row may still change in its place. */
  open(row: T): boolean;
  /** Rows, their number or the error changed. */
  changed(): void;
  now(): number;
  /** Calls then after ms; what it returns cancels it. */
  later(ms: number, then: () => void): () => void;
}

interface Page<T> {
  rows: (T | undefined)[];
  count: number;
  /** Whether a row of it may still change. */
  open: boolean;
  /** The revision that it was read whole at. */
  revision: number;
  used: number;
}

const head = -1;

export class Pages<T> {
  /** Rows that there are. */
  total = 0;
  /** Whether total came from the service. */
  known = false;
  /** Why rows are missing; they are asked for again. */
  error = "";
  /** Whether rows may arrive while an answer is on its way. */
  growing = false;
  private pages = new Map<number, Page<T>>();
  private flights = new Map<number, Promise<void>>();
  private wanted = { low: 0, end: 0 };
  private every = false;
  private revision = 0;
  private era = 0;
  private clock = 0;
  private failures = 0;
  private asked = -Infinity;
  private cancel: (() => void) | null = null;
  /** The newest rows were wanted while an older question about them was under way. */
  private overdue = false;

  constructor(private readonly env: Env<T>) {}

  get(row: number): T | undefined {
    return this.pages.get(Math.floor(row / pageSize))?.rows[row % pageSize];
  }

  /** Asks for the rows low to end, which are those in view, unless they are there. */
  want(low: number, end: number) {
    this.wanted = { low: Math.max(0, low), end };
    for (let p = Math.floor(this.wanted.low / pageSize); p * pageSize < end; p++) {
      const page = this.pages.get(p);
      if (page) page.used = ++this.clock;
    }
    this.plan();
  }

  /** Asks for the newest rows, and how many there are. */
  newest(): Promise<void> {
    return this.flights.get(head) ?? this.fly(head, 0, pageSize);
  }

  /** Whether all rows are to be here, not only those in view. */
  everything(on: boolean) {
    this.every = on;
    if (on) this.plan();
  }

  /** Rows may have changed: open ones in view are read again, the newest when newest says so. */
  refresh(newest: boolean) {
    this.revision++;
    if (!newest && this.known) this.plan();
    else if (this.flights.has(head)) this.overdue = true;
    else void this.newest();
  }

  /** There are at least total rows. */
  grow(total: number) {
    if (total <= this.total) return;
    this.total = total;
    this.env.changed();
    this.plan();
  }

  /** Tries now what failed before. */
  retry() {
    Object.assign(this, { failures: 0, asked: -Infinity });
    this.stop();
    if (this.known && !this.overdue) this.plan();
    else {
      this.overdue = false;
      void this.newest();
    }
  }

  /** Nothing is in view: nothing more is asked for. */
  rest() {
    this.stop();
    this.wanted = { low: 0, end: 0 };
    this.every = false;
  }

  /** Another run: nothing is true any more. */
  reset() {
    this.era++;
    this.stop();
    this.pages.clear();
    this.flights.clear();
    Object.assign(this, { total: 0, known: false, error: "", every: false, failures: 0, asked: -Infinity, wanted: { low: 0, end: 0 }, overdue: false });
    this.env.changed();
  }

  /** How many of the rows are here. */
  get loaded(): number {
    let n = 0;
    for (const page of this.pages.values()) n += page.count;
    return Math.min(n, this.total);
  }

  /** Whether all rows are here as they are now. */
  get complete(): boolean {
    return this.known && this.lacking(0, this.total).length === 0;
  }

  /** A row, asked for if it is not here. */
  async row(index: number): Promise<T> {
    const era = this.era, p = Math.floor(index / pageSize);
    for (let tries = 0; tries < 3; tries++) {
      const row = this.get(index);
      if (row !== undefined) return row;
      await (this.flights.get(p) ?? this.ask(p));
      if (this.era !== era) break;
    }
    const row = this.era === era ? this.get(index) : undefined;
    if (row === undefined) throw new Error(this.error || "the row is gone");
    return row;
  }

  private stop() {
    this.cancel?.();
    this.cancel = null;
  }

  /** Asks for what is lacking, not more often than spacing allows. */
  private plan() {
    if (this.cancel || this.lackingInView().length === 0) return;
    const wait = this.every ? 0 : this.asked + spacing - this.env.now();
    if (wait <= 0) this.askInView();
    else this.after(wait);
  }

  private after(ms: number) {
    this.stop();
    this.cancel = this.env.later(ms, () => {
      this.cancel = null;
      if (this.lackingInView().length > 0) this.askInView();
      else void this.newest();
    });
  }

  private askInView() {
    const lacking = this.lackingInView();
    while (lacking.length > 0 && this.flights.size < mostFlights) {
      const p = lacking.shift() as number;
      if (this.flights.has(p)) continue;
      this.asked = this.env.now();
      const two = this.every && lacking[0] === p - 1 && !this.flights.has(p - 1);
      void this.ask(p, two ? 2 : 1);
      if (two) lacking.shift();
    }
  }

  private lackingInView(): number[] {
    return this.every ? this.lacking(0, this.total) : this.lacking(this.wanted.low, this.wanted.end);
  }

  /** Pages of the rows low to end that are not here or not as they are now, newest first. */
  private lacking(low: number, end: number): number[] {
    const out: number[] = [];
    const last = Math.min(end, this.total) - 1;
    for (let p = Math.floor(last / pageSize); last >= 0 && p >= Math.floor(low / pageSize); p--) {
      const page = this.pages.get(p);
      if (!page || page.count < this.sizeOf(p) || (page.open && page.revision < this.revision)) out.push(p);
    }
    return out;
  }

  private sizeOf(p: number): number {
    return Math.min(pageSize, this.total - p * pageSize);
  }

  /** Asks for page p and older ones, in one request. While rows arrive some more are asked for, as the answer is moved by as many. */
  private ask(p: number, pages = 1): Promise<void> {
    const end = Math.min(this.total, (p + 1) * pageSize);
    const low = Math.max(0, (p + 1 - pages) * pageSize);
    const limit = this.growing ? mostRows : end - low;
    const flight = this.fly(p, this.total - end, Math.max(1, limit));
    if (pages > 1) this.flights.set(p - 1, flight);
    return flight;
  }

  private fly(key: number, offset: number, limit: number): Promise<void> {
    const era = this.era, revision = this.revision;
    const land = () => {
      for (const [k, f] of this.flights) if (f === flight) this.flights.delete(k);
    };
    const flight = this.env.load(offset, limit).then(
      (answer) => {
        if (this.era !== era) return;
        land();
        this.take(answer, offset, limit, revision);
        if (key === head && this.overdue) {
          this.overdue = false;
          void this.newest();
        }
      },
      (e: unknown) => {
        if (this.era !== era) return;
        land();
        if (key === head) this.overdue = true;
        this.fail(e instanceof Error ? e.message : String(e));
      },
    );
    this.flights.set(key, flight);
    return flight;
  }

  private take(answer: Answer<T>, offset: number, limit: number, revision: number) {
    const newest = answer.of - 1 - offset, oldest = newest - answer.items.length + 1;
    this.total = answer.of;
    this.known = true;
    answer.items.forEach((row, i) => this.put(newest - i, row));
    for (let p = Math.floor(Math.max(0, oldest) / pageSize); p * pageSize <= newest; p++) this.settle(p, oldest, newest, revision);
    this.forget();
    if (answer.items.length < Math.min(limit, answer.of - offset)) {
      this.fail("only the newest rows can be had without the stream");
      return;
    }
    this.failures = 0;
    this.error = "";
    this.env.changed();
    this.plan();
  }

  private put(row: number, value: T) {
    const p = Math.floor(row / pageSize);
    let page = this.pages.get(p);
    if (!page) this.pages.set(p, (page = { rows: Array(pageSize), count: 0, open: false, revision: -1, used: ++this.clock }));
    if (page.rows[row % pageSize] === undefined) page.count++;
    page.rows[row % pageSize] = value;
  }

  private settle(p: number, oldest: number, newest: number, revision: number) {
    const page = this.pages.get(p);
    if (!page) return;
    page.open = page.rows.some((row) => row !== undefined && this.env.open(row));
    if (oldest <= p * pageSize && newest >= p * pageSize + this.sizeOf(p) - 1) page.revision = revision;
  }

  private forget() {
    const low = Math.floor(this.wanted.low / pageSize), end = this.wanted.end / pageSize;
    const old = [...this.pages].filter(([p]) => p < low || p >= end).sort((a, b) => a[1].used - b[1].used);
    for (const [p] of old.slice(0, Math.max(0, this.pages.size - mostPages))) this.pages.delete(p);
  }

  private fail(message: string) {
    this.error = message;
    this.failures++;
    this.after(Math.min(8000, 500 * 2 ** (this.failures - 1)));
    this.env.changed();
  }
}
