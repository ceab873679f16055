// What a suite gets: tests, and services, proxies and visits that end with their test.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { Plane } from "./plane.mjs";
import { proxy } from "./proxy.mjs";
import { report, skip } from "./report.mjs";
import { Service, strategies } from "./service.mjs";
import { Visit } from "./visit.mjs";

const flags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--host-resolver-rules=MAP *.test 127.0.0.1", "--enable-precise-memory-info",
];

export class Suite {
  #browser = null;
  #services = new Set();
  #proxies = new Set();
  #visits = new Set();

  constructor(config, name) {
    this.config = config;
    this.name = name;
  }

  report = report;
  skip = skip;

  /** One finding: ok when the body returns and no page of it did what it must not do. A text that it returns is told with it. */
  async test(name, body) {
    if (this.config.only && !new RegExp(this.config.only).test(name)) return;
    const begin = Date.now();
    let failure = null, told = "";
    try {
      const returned = await body();
      if (typeof returned === "string") told = returned;
    } catch (e) {
      failure = (e.stack ?? String(e)) + (await this.#evidence(name));
    }
    const problems = [];
    for (const visit of this.#visits) {
      problems.push(...visit.watch.problems());
      if (!visit.kept) await this.leave(visit);
    }
    if (problems.length) failure = [failure, ...new Set(problems)].filter(Boolean).join("\n");
    report(name, !failure, failure ?? told, (Date.now() - begin) / 1000);
  }

  async service(options = {}) {
    const { names, scripts, ...rest } = options;
    if (names || scripts) rest.strategies = strategies(this.config, names ?? [], scripts);
    const service = await Service.start(this.config, rest);
    this.#services.add(service);
    return service;
  }

  /** A real control plane that reads the artifacts of a state directory. */
  async plane(artifacts) {
    const plane = await Plane.start(this.config, artifacts);
    this.#services.add(plane);
    return plane;
  }

  async proxy(target, rules) {
    const front = await proxy(target, rules);
    this.#proxies.add(front);
    return front;
  }

  async browser() {
    this.#browser ??= await chromium.launch({ executablePath: this.config.chromium, args: flags });
    return this.#browser;
  }

  /** Opens the dashboard, or another page of the service, in a browser context of its own. */
  async visit(url, options) {
    const visit = await Visit.open(await this.browser(), url, options);
    this.#visits.add(visit);
    return visit;
  }

  async leave(visit) {
    this.#visits.delete(visit);
    await visit.close();
  }

  /** Ends everything, in the order in which one needs the other. */
  async end() {
    await this.#browser?.close().catch(() => {});
    this.#proxies.forEach((front) => front.close());
    await Promise.all([...this.#services].map((service) => service.end()));
  }

  /** Ends the processes at once; for a run that is being broken off. */
  abandon() {
    this.#services.forEach((service) => service.abandon());
  }

  /** What the pages of a failed test show, as text and as pictures. */
  async #evidence(name) {
    const parts = [];
    let n = 0;
    for (const visit of this.#visits) {
      mkdirSync(this.config.failures, { recursive: true });
      const file = join(this.config.failures, `${this.name}-${name.replace(/\W+/g, "-").slice(0, 60)}-${++n}.png`);
      await visit.page.screenshot({ path: file, timeout: 5000 }).catch(() => {});
      const text = await visit.page.locator("body").ariaSnapshot({ timeout: 3000 }).catch((e) => String(e));
      parts.push(`\nscreenshot: ${file}\n${text.slice(0, 2500)}`);
    }
    // How a service fell, and what it last said.
    for (const service of this.#services) if (service.log) parts.push(`\n${service.fallen}${service.log.slice(-4000)}`);
    return parts.join("\n");
  }
}
