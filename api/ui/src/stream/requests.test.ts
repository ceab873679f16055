import { equal, ok, test } from "../testing.ts";
import { Unavailable } from "../state/source.ts";
import { backoff } from "./backoff.ts";
import { Bucket } from "./bucket.ts";
import { FakeEnv, frame } from "./fake.ts";
import { Requests } from "./requests.ts";

function setup() {
  const env = new FakeEnv(), sent: { at: number; type: string; payload: Record<string, unknown> }[] = [];
  return { env, sent, requests: new Requests(env, (text) => sent.push({ at: env.time, ...JSON.parse(text) })) };
}

const failure = (p: Promise<unknown>) => p.then(() => null, (e: Error) => e);

test("back-off doubles from 0.5 s to 15 s and takes off at most a half", () => {
  equal([0, 1, 2, 3, 4, 5, 6, 60].map((n) => backoff(n, 0)), [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  equal([0, 1, 5].map((n) => backoff(n, 1)), [500, 500, 7500]);
});

test("the bucket lets through a burst and then its rate", () => {
  const bucket = new Bucket(2, 8);
  equal([bucket.take(0), bucket.take(0), bucket.take(0)], [0, 0, 125]);
  equal([bucket.take(125), bucket.take(125)], [0, 125]);
  equal([bucket.take(9000), bucket.take(9000), bucket.take(9000)], [0, 0, 125], "it does not overflow");
});

test("never more than the server allows in any second", async () => {
  const { env, sent, requests } = setup();
  for (let i = 0; i < 40; i++) void failure(requests.ask("rows", { i }));
  await env.pass(6000);
  equal(sent.length, 40);
  for (const { at } of sent) ok(sent.filter((s) => s.at >= at && s.at < at + 1000).length <= 16, "burst and rate");
  equal(sent.map((s) => s.payload.i), Array.from({ length: 40 }, (_, i) => i), "in order");
});

test("answers find their questions", async () => {
  const { requests, sent } = setup();
  const a = requests.ask("rows", { table: "trades" }), b = requests.ask("series", { series: "equity" }), c = requests.ask("run", {});
  equal(sent.map((s) => s.payload.id), ["1", "2", "3"]);
  requests.answer(frame("series_result", 1, { id: "2", of: 5 }));
  requests.answer(frame("error", 1, { id: "1", code: "NO_RUN", message: "there is no run" }));
  requests.answer(frame("error", 1, { id: "3", code: "VALIDATION_FAILED", message: "no" }));
  requests.answer(frame("rows_result", 1, { id: "1" }));
  requests.answer(frame("error", 1, {}));
  equal((await b).of, 5);
  ok((await failure(a)) instanceof Unavailable, "no run is no mistake");
  const mistake = (await failure(c)) as Error & { code?: string };
  equal([mistake instanceof Unavailable, mistake.code, mistake.message], [false, "VALIDATION_FAILED", "no"]);
});

test("a waiting question is superseded by a newer one of its kind, a snapshot goes first", async () => {
  const { env, requests, sent } = setup();
  for (let i = 0; i < 8; i++) void failure(requests.ask("rows", {}));
  const old = failure(requests.ask("series", { n: 1 }, "candles")), other = failure(requests.ask("series", { n: 2 }, "equity"));
  void failure(requests.ask("series", { n: 3 }, "candles"));
  requests.tell("snapshot");
  await env.pass(2000);
  ok((await old) instanceof Unavailable, "superseded");
  equal(sent.slice(8).map((s) => s.payload.n ?? s.type), ["snapshot", 2, 3]);
  requests.end();
  ok((await other) instanceof Unavailable, "the connection is gone");
  ok((await failure(requests.ask("rows", {}))) instanceof Unavailable, "and stays so");
});

test("an answer that does not come is given up", async () => {
  const { env, requests } = setup();
  const lost = failure(requests.ask("rows", {}));
  await env.pass(19_000);
  requests.expire();
  await env.pass(1_000);
  requests.expire();
  ok((await lost) instanceof Unavailable, "given up");
});
