// A real bin/assay: started, asked over HTTP like by any client, stopped, killed,
// started again on the same port and state.
import { spawn } from "node:child_process";
import { appendFileSync, chmodSync, copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { within } from "./wait.mjs";

/** A folder of its own below the folder of this run. */
export const folder = (config, name) => mkdtempSync(join(config.temp, name + "-"));

/** Fills a folder with strategies: names of the bundled ones, names under which the
 *  misbehaving one misbehaves, and {name: script} for files that are no plugin at all. */
export function strategies(config, names, scripts = {}) {
  const dir = folder(config, "strategies");
  for (const name of names) {
    const to = join(dir, name);
    const own = config.strategies.includes(name) ? join("strategies", name) : name === "widgets" ? name : "";
    copyFileSync(join(config.bin, own || "misbehave"), to);
    // The service remembers what a program is by its hash: each copy has one of its own.
    if (!own) appendFileSync(to, name);
  }
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(dir, name), text);
    chmodSync(join(dir, name), 0o755);
  }
  return dir;
}

export class Service {
  #config;
  #child = null;
  #arguments;
  #stderr = "";

  /** Starts one; state and strategies are folders. */
  static async start(config, { state = folder(config, "state"), strategies: dir, args = [] } = {}) {
    const service = new Service();
    service.#config = config;
    service.state = state;
    service.port = "0";
    service.#arguments = ["--state-dir", state, "--strategies", dir ?? join(config.bin, "strategies"), ...args];
    await service.begin();
    return service;
  }

  /** Starts the process; a second time on the port of the first. */
  async begin() {
    const child = spawn(join(this.#config.bin, "assay"), ["--port", this.port, ...this.#arguments], { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    child.stderr.on("data", (text) => (this.#stderr = (this.#stderr + text).slice(-20_000)));
    const exited = once(child, "exit").then(([code, signal]) => {
      throw new Error(`the service ended before it listened: ${code ?? signal}\n${this.#stderr}`);
    });
    exited.catch(() => {});
    const lines = createInterface({ input: child.stdout });
    const listens = new Promise((done) => lines.on("line", (line) => line.startsWith("assay listening on ") && done(line.slice("assay listening on ".length))));
    this.url = await within(Promise.race([listens, exited]), 60_000, "the start of the service");
    this.port = new URL(this.url).port;
  }

  get pid() {
    return this.#child.pid;
  }

  /** How the process ended; "" while it runs. */
  get fallen() {
    const { exitCode, signalCode } = this.#child;
    return exitCode === null && signalCode === null ? "" : `the service has ended: ${exitCode ?? signalCode}\n`;
  }

  get log() {
    return this.#stderr;
  }

  /** Ends the process by its id and waits for it; SIGKILL when the polite signal does nothing. */
  async end(signal = "SIGTERM") {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await within(gone, 40_000, "the end of the service").catch(async () => {
      child.kill("SIGKILL");
      await gone;
    });
  }

  /** Ends without waiting, for a process that is ending itself. */
  abandon() {
    this.#child?.kill("SIGKILL");
  }

  async call(method, path, body, headers = {}) {
    const response = await fetch(this.url + "/api/v1" + path, {
      method, headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers }, body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: await response.json(), headers: response.headers };
  }

  async get(path, headers) {
    const answer = await this.call("GET", path, undefined, headers);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  status = () => this.get("/status");
  results = () => this.get("/results");

  /** Starts a backtest on the bundled candles, as another client would. */
  async backtest(strategy_name, more = {}) {
    const answer = await this.call("POST", "/run/backtest", { strategy_name, symbols: ["BTC/USDT"], timeframe: "1h", ...more });
    if (answer.status !== 200) throw new Error(`start: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Starts a paper run on the simulated market, as another client would. */
  async paper(strategy_name, { config = {}, ...more } = {}) {
    const answer = await this.call("POST", "/run/live", {
      strategy_name, symbols: ["BTC/USDT"], timeframe: "1m", exchange: "sim", exchange_config: { candles_per_second: 100, ...config }, ...more,
    });
    if (answer.status !== 200) throw new Error(`start: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Waits until the status is one of these: long polls, no busy asking. */
  async reaches(...wanted) {
    let tag = "";
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const answer = await this.call("GET", "/status", undefined, { Prefer: "wait=5", ...(tag ? { "If-None-Match": tag } : {}) });
      if (wanted.includes(answer.body.status)) return answer.body;
      tag = answer.headers.get("etag") ?? "";
    }
    throw new Error(`the service never became ${wanted}`);
  }

  /** Back to idle from wherever it is. */
  async clear() {
    if ((await this.status()).status === "running") {
      await this.call("POST", "/run/stop");
      await this.reaches("completed", "failed", "idle");
    }
    await this.call("DELETE", "/run/reset");
  }
}
