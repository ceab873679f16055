// A real control plane, and a real candidate in the state directory of a service.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { folder } from "./service.mjs";
import { until, within } from "./wait.mjs";

export class Plane {
  #child = null;
  #stderr = "";

  /** Starts one that reads the artifacts of a state directory. */
  static async start(config, artifacts) {
    const plane = new Plane();
    const dir = folder(config, "plane");
    plane.key = join(dir, "keys", "statement.pub");
    const child = spawn(join(config.bin, "governance"), ["serve", "--port", "0", "--state-dir", dir, "--artifact-root", artifacts, "--log-level", "warn"], { stdio: ["ignore", "pipe", "pipe"] });
    plane.#child = child;
    child.stderr.on("data", (text) => (plane.#stderr = (plane.#stderr + text).slice(-20_000)));
    const exited = once(child, "exit").then(([code, signal]) => {
      throw new Error(`the control plane ended before it listened: ${code ?? signal}\n${plane.#stderr}`);
    });
    exited.catch(() => {});
    const said = "governance listening on ";
    const listens = new Promise((done) => createInterface({ input: child.stdout }).on("line", (line) => line.startsWith(said) && done(line.slice(said.length))));
    plane.url = await within(Promise.race([listens, exited]), 60_000, "the start of the control plane");
    return plane;
  }

  /** The options of a service that asks it. */
  get options() {
    return ["--control-url", this.url, "--control-key", this.key];
  }

  async get(path) {
    const answer = await fetch(this.url + path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  get log() {
    return this.#stderr;
  }

  get fallen() {
    const { exitCode, signalCode } = this.#child;
    return exitCode === null && signalCode === null ? "" : `the control plane has ended: ${exitCode ?? signalCode}\n`;
  }

  async end() {
    if (this.fallen) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await within(gone, 40_000, "the end of the control plane");
  }

  abandon() {
    this.#child.kill("SIGKILL");
  }
}

/** Attacks a backtest of the service, whose run the lab plays first, packs that and submits it; returns the revision. */
export async function candidate(t, service, plane) {
  await service.backtest("sma_cross", { timeframe: "1d", start_date: "2021-01-01", end_date: "2022-06-01" });
  await service.reaches("completed");
  const { items: [run] } = await service.get("/runs?kind=service");
  const { status, body } = await service.call("POST", "/falsifications", { run_id: run.run_id });
  if (status !== 202) throw new Error(`falsification: ${status} ${JSON.stringify(body)}`);
  const job = () => service.get("/jobs/" + body.job.job_id);
  await until(async () => ["completed", "failed"].includes((await job()).status), "the falsification", { timeout: 240_000 });
  const ended = await job();
  if (ended.status !== "completed") throw new Error(JSON.stringify(ended));
  const projects = join(service.state, "projects", "sma_cross");
  const args = ["candidate", "pack", "sma_cross", "--dir", join(projects, readdirSync(projects)[0]), "--state-dir", service.state, "--run", ended.links.run_id, "--stage", "live", "--owner", "olga", "--submit", "--control-url", plane.url, "--json"];
  const { stdout } = await promisify(execFile)(join(t.config.bin, "lab"), args);
  return { revision: JSON.parse(stdout).result.candidate_revision_id, run: ended.links.run_id };
}
