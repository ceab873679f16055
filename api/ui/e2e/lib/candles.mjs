// Candles of a market that does not exist, as many as a test needs, imported by the lab
// before a service starts. The same numbers in every run.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { folder } from "./service.mjs";

export const symbol = "SYN/USDT";

/** A state folder with n candles of one minute; {state, low, high} with the exact extremes. */
export async function market(config, n) {
  const dir = folder(config, "candles");
  const file = join(dir, "candles.csv");
  const extremes = await write(file, n);
  const state = folder(config, "state");
  execFileSync(join(config.bin, "lab"), ["--state-dir", state, "--quiet", "data", "import", file, "--exchange", "synthetic", "--symbol", symbol, "--timeframe", "1m"]);
  return { state, ...extremes };
}

async function write(file, n) {
  const out = createWriteStream(file);
  out.write("time,open,high,low,close,volume\n");
  const random = generator(7);
  const begin = Date.UTC(2020, 0, 1) / 1000;
  let [price, low, high] = [1000, Infinity, 0];
  for (let i = 0; i < n; i++) {
    const open = price;
    // A slow wave keeps the walk from running away; one spike and one dip are the extremes.
    price = round(Math.max(50, open * (1 + (random() - 0.5) * 0.006) + 0.02 * Math.sin(i / 5000)));
    const reach = i === Math.floor(n * 0.7) ? 3 : i === Math.floor(n * 0.3) ? 0.3 : 1;
    const top = round(Math.max(open, price) * (1 + random() * 0.002) * Math.max(1, reach));
    const bottom = round(Math.min(open, price) * (1 - random() * 0.002) * Math.min(1, reach));
    [low, high] = [Math.min(low, bottom), Math.max(high, top)];
    if (!out.write(`${begin + i * 60},${open},${top},${bottom},${price},${round(random() * 10)}\n`)) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
  return { low, high };
}

const round = (value) => Math.round(value * 100) / 100;

function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
