import { equal, test } from "../testing.ts";
import { freshness } from "./fresh.ts";
import type { Connection } from "./store.ts";

const link = (state: Connection["state"], lastData: number, lastFrame: number): Connection => ({ state, lastData, lastFrame, retryAt: 0 });
const is = (at: Connection, now: number, running = true, final = false) => {
  const { stale, dated } = freshness(at, running, final, now);
  return `${stale ? "stale" : "fresh"} ${dated ? "dated" : "whole"}`;
};

test("numbers are stale after 5 s without a word", () => {
  equal([is(link("live", 1000, 1000), 5999), is(link("live", 1000, 1000), 6000)], ["fresh whole", "stale whole"]);
  equal(is(link("live", 1000, 1000), 20_000, false), "fresh whole", "nothing changes without a run");
  equal([is(link("down", 1000, 1000), 5999, false), is(link("down", 1000, 1000), 6000, false)], ["fresh whole", "stale whole"]);
  equal(is(link("connecting", 0, 0), 9000), "fresh whole");
});

test("a status that is newer dates the rest", () => {
  equal(is(link("polling", 3000, 1000), 3100), "fresh dated");
  equal(is(link("polling", 3000, 0), 3100), "fresh dated", "never known");
  equal([is(link("reconnecting", 1100, 1000), 1200), is(link("reconnecting", 5500, 1000), 6000)], ["fresh whole", "fresh dated"]);
  equal(is(link("down", 3000, 1000), 9000), "stale dated");
  equal(is(link("polling", 3000, 1000), 3100, false, true), "fresh whole", "results do not age");
});
