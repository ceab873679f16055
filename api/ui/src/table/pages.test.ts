import { equal, ok, test } from "../testing.ts";
import { Pages, type Answer } from "./pages.ts";

interface Row {
  n: number;
  open: boolean;
}

/** A service with rows 0 to n-1 whose answers wait until they are let go, and a clock that is moved by hand. */
class Bench {
  rows: Row[];
  calls: { offset: number; limit: number; answer: () => void; refuse: (why: string) => void }[] = [];
  changes = 0;
  time = 0;
  timers: { at: number; then: () => void }[] = [];
  pages: Pages<Row>;

  constructor(n: number) {
    this.rows = Array.from({ length: n }, (_, i) => ({ n: i, open: false }));
    this.pages = new Pages<Row>({
      load: (offset, limit) => new Promise<Answer<Row>>((done, broken) => {
        this.calls.push({ offset, limit, answer: () => done(this.page(offset, limit)), refuse: (why) => broken(new Error(why)) });
      }),
      open: (row) => row.open,
      changed: () => this.changes++,
      now: () => this.time,
      later: (ms, then) => {
        const timer = { at: this.time + ms, then };
        this.timers.push(timer);
        return () => (this.timers = this.timers.filter((t) => t !== timer));
      },
    });
  }

  page(offset: number, limit: number): Answer<Row> {
    const newest = this.rows.length - 1 - offset;
    const items: Row[] = [];
    for (let i = newest; i >= 0 && items.length < limit; i--) items.push({ ...(this.rows[i] as Row) });
    return { items, of: this.rows.length };
  }

  add(n: number) {
    for (let i = 0; i < n; i++) this.rows.push({ n: this.rows.length, open: false });
  }

  async pass(ms: number) {
    this.time += ms;
    const due = this.timers.filter((t) => t.at <= this.time);
    this.timers = this.timers.filter((t) => t.at > this.time);
    for (const t of due) t.then();
    await settle();
  }

  async answer(): Promise<number> {
    const calls = this.calls.splice(0);
    for (const c of calls) c.answer();
    await settle();
    return calls.length;
  }

  /** The service answers whatever is asked. */
  async all() {
    for (let i = 0; i < 100 && (this.calls.length || this.timers.length); i++) {
      await this.answer();
      await this.pass(100);
    }
  }
}

const settle = () => new Promise<void>((done) => setTimeout(done, 0));

async function opened(n: number): Promise<Bench> {
  const b = new Bench(n);
  void b.pages.newest();
  await b.answer();
  return b;
}

test("the newest rows come first and have absolute indexes", async () => {
  const b = new Bench(1050);
  void b.pages.newest();
  equal([b.calls[0]?.offset, b.calls[0]?.limit, b.calls.length], [0, 200, 1]);
  ok(b.pages.newest() instanceof Promise && b.calls.length === 1, "asked once");
  await b.answer();
  equal(b.pages.total, 1050);
  equal([b.pages.get(1049)?.n, b.pages.get(850)?.n, b.pages.get(849)], [1049, 850, undefined]);
});

test("only pages in view are asked for, each once", async () => {
  const b = await opened(100_000);
  b.pages.want(50_010, 50_050);
  b.pages.want(50_010, 50_050);
  equal(b.calls.map((c) => [c.offset, c.limit]), [[100_000 - 50_200, 200]]);
  b.pages.want(50_190, 50_230);
  await b.pass(100);
  equal(b.calls.length, 2);
  await b.all();
  equal([b.pages.get(50_000)?.n, b.pages.get(50_399)?.n, b.pages.get(49_999)], [50_000, 50_399, undefined]);
  b.pages.want(50_000, 50_400);
  equal(b.calls.length, 0);
});

test("fast scrolling passes over pages", async () => {
  const b = await opened(100_000);
  for (let top = 99_000; top > 20_000; top -= 400) b.pages.want(top, top + 20);
  equal(b.calls.length, 1);
  await b.pass(100);
  equal(b.calls.length, 2);
  await b.all();
  ok(b.pages.get(20_205) !== undefined || b.pages.get(20_210) !== undefined, "where it stopped is here");
  equal(b.pages.get(60_000), undefined);
});

test("rows that arrive on the way do not shift the pages", async () => {
  const b = await opened(10_000);
  b.pages.growing = true;
  b.pages.want(5_000, 5_020);
  b.add(120);
  await b.answer();
  equal([b.pages.total, b.pages.get(5_000)?.n, b.pages.get(5_199)?.n], [10_120, 5_000, 5_199]);
  b.pages.want(7_000, 7_020);
  await b.pass(100);
  b.add(900);
  await b.all();
  equal([b.pages.total, b.pages.get(7_000)?.n, b.pages.get(5_000)?.n], [11_020, 7_000, 5_000]);
});

test("open rows in view are read again after a refresh, others never", async () => {
  const b = await opened(600);
  b.pages.want(0, 600);
  await b.all();
  b.pages.refresh(false);
  equal(b.calls.length, 0);
  (b.rows[5] as Row).open = true;
  const c = await opened(600);
  (c.rows[5] as Row).open = true;
  c.pages.want(0, 20);
  await c.all();
  c.pages.refresh(false);
  await c.pass(100);
  equal(c.calls.map((x) => x.offset), [400]);
  (c.rows[5] as Row).open = false;
  await c.all();
  equal(c.pages.get(5)?.open, false);
  c.pages.refresh(false);
  await c.pass(100);
  equal(c.calls.length, 0);
});

test("new rows at the end are read with the newest", async () => {
  const b = await opened(300);
  b.add(50);
  void b.pages.newest();
  await b.answer();
  equal([b.pages.total, b.pages.get(349)?.n], [350, 349]);
  b.pages.grow(400);
  equal(b.pages.total, 400);
});

test("a failure is tried again, later and later, or at once when told", async () => {
  const b = await opened(1000);
  b.pages.want(0, 20);
  b.calls.splice(0)[0]?.refuse("no connection");
  await settle();
  equal(b.pages.error, "no connection");
  b.pages.want(0, 20);
  equal(b.calls.length, 0);
  await b.pass(500);
  b.calls.splice(0)[0]?.refuse("no connection");
  await settle();
  await b.pass(900);
  equal(b.calls.length, 0);
  await b.pass(100);
  b.calls.splice(0)[0]?.refuse("no connection");
  await settle();
  b.pages.retry();
  equal(b.calls.length, 1);
  await b.all();
  equal([b.pages.error, b.pages.get(0)?.n], ["", 0]);
});

test("a first failure is tried again", async () => {
  const b = new Bench(10);
  void b.pages.newest();
  b.calls.splice(0)[0]?.refuse("no connection");
  await settle();
  await b.pass(500);
  await b.answer();
  equal([b.pages.total, b.pages.known], [10, true]);
});

test("another run forgets all, answers of before too", async () => {
  const b = await opened(1000);
  b.pages.want(0, 20);
  b.pages.reset();
  await b.answer();
  equal([b.pages.total, b.pages.known, b.pages.get(0)], [0, false, undefined]);
});

test("no more than 50 pages are kept", async () => {
  const b = await opened(100_000);
  for (let p = 0; p < 80; p++) {
    b.pages.want(p * 200, p * 200 + 20);
    await b.all();
  }
  ok(b.pages.loaded <= 50 * 200, `${b.pages.loaded} rows`);
  equal([b.pages.get(0), b.pages.get(79 * 200)?.n], [undefined, 79 * 200]);
});

test("all rows, when they are wanted", async () => {
  const b = await opened(5000);
  equal(b.pages.complete, false);
  b.pages.everything(true);
  let calls = 0;
  while (b.calls.length) {
    ok(b.calls.length <= 2 && b.calls.every((c) => c.limit <= 500), "few and small requests");
    calls += await b.answer();
  }
  ok(calls <= 14, `${calls} requests`);
  equal([b.pages.complete, b.pages.loaded], [true, 5000]);
});

test("a row by its index", async () => {
  const b = await opened(5000);
  const row = b.pages.row(123);
  await b.answer();
  equal((await row).n, 123);
  const gone = b.pages.row(3000).catch((e: Error) => e.message);
  b.pages.reset();
  await b.answer();
  equal(await gone, "the row is gone");
});

test("a source that has only the newest rows says so", async () => {
  const b = await opened(1000);
  b.pages.want(0, 20);
  b.rows = b.rows.slice(500);
  const short = { items: [] as Row[], of: 1000 };
  b.page = () => short;
  await b.answer();
  equal(b.pages.error, "only the newest rows can be had without the stream");
});

test("pages: what changed while the newest rows were on their way is asked for again", async () => {
  const b = new Bench(66);
  void b.pages.newest();
  b.calls[0]?.answer();
  b.rows = Array.from({ length: 1179 }, (_, i) => ({ n: i, open: false }));
  b.pages.refresh(true); // the run ended before the answer was read
  await new Promise((done) => setTimeout(done, 0));
  equal(b.calls.length, 2, "asked again");
  b.calls[1]?.answer();
  await new Promise((done) => setTimeout(done, 0));
  equal(b.pages.total, 1179);
  b.pages.refresh(true);
  equal(b.calls.length, 3);
});
