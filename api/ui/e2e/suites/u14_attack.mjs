// U14: pages of other origins attack a running service through a real browser: none of
// them changes or reads anything. What a page of the service itself does works.
import http from "node:http";
import { once } from "node:events";

export default async function attack(t) {
  const service = await t.service({ names: ["sleeper"] });
  await service.backtest("sleeper", { strategy_params: { sleep_ms: 50 } });
  const foreign = http.createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>foreign</title><body></body>");
  });
  foreign.listen(0, "127.0.0.1");
  await once(foreign, "listening");
  const { url, port } = service;
  const at = { target: url, port, stream: url.replace("http:", "ws:") + "/api/v1/ws/status", foreign: foreign.address().port, report: t.report };
  try {
    await everything(at, await t.browser(), service);
  } finally {
    foreign.close();
  }
}

// settled is how a promise of the page ended, as a word.
const settled = `async (f) => { try { const r = await f(); return r && r.type ? r.type + " " + r.status : String(r); } catch (e) { return "refused: " + e.name; } }`;

// requests are attacks by fetch: the options, and which ends are harmless. An opaque
// answer tells the page nothing; that nothing has happened is checked at the end.
const requests = {
  "POST without preflight": ["/api/v1/run/stop", { method: "POST", mode: "no-cors" }],
  "POST of text": ["/api/v1/run/stop", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: "{}" }],
  "POST with cors": ["/api/v1/run/stop", { method: "POST" }],
  "POST of JSON": ["/api/v1/run/backtest", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }],
  "POST with a key": ["/api/v1/run/backtest", { method: "POST", headers: { "Idempotency-Key": "k" } }],
  "DELETE": ["/api/v1/run/reset", { method: "DELETE" }],
  "GET with cors": ["/api/v1/status", {}],
  "GET without cors": ["/api/v1/results", { mode: "no-cors" }],
  "GET with credentials": ["/api/v1/status", { credentials: "include" }],
  "GET with a header": ["/api/v1/status", { headers: { Prefer: "wait=1" } }],
  "GET of the page": ["/ui", { mode: "no-cors" }],
  "GET of the documentation": ["/docs", { mode: "no-cors" }],
};

async function byFetch(at, page, where) {
  for (const [name, [path, options]] of Object.entries(requests)) {
    const end = await page.evaluate(
      ([url, options, settled]) => eval(settled)(() => fetch(url, options)), [at.target + path, options, settled]);
    at.report(`${where}: ${name}`, end.startsWith("refused") || end === "opaque 0", end);
  }
  await page.evaluate((url) => navigator.sendBeacon(url, "{}"), at.target + "/api/v1/run/stop");
}

async function byElement(at, page, where) {
  const load = (tag, attribute, url) => page.evaluate(([tag, attribute, url]) => new Promise((done) => {
    const e = document.createElement(tag);
    e.onload = () => done("loaded");
    e.onerror = () => done("refused");
    if (tag === "link") e.rel = "stylesheet";
    e[attribute] = url;
    document.body.append(e);
    setTimeout(() => done("refused: nothing happened"), 3000);
  }), [tag, attribute, url]);
  for (const [tag, attribute, path] of [
    ["img", "src", "/api/v1/status"], ["script", "src", "/api/v1/results"], ["script", "src", "/openapi.json"],
    ["link", "href", "/api/v1/status"], ["object", "data", "/ui"], ["embed", "src", "/docs"],
  ]) {
    const end = await load(tag, attribute, at.target + path);
    // An object that shows the browser's own error page fires load as well.
    const harmless = end.startsWith("refused") || (tag === "embed" || tag === "object") && !(await framed(at, page));
    at.report(`${where}: ${tag} of ${path}`, harmless, end);
  }
  const events = await page.evaluate((url) => new Promise((done) => {
    const source = new EventSource(url);
    source.onerror = () => { source.close(); done("refused"); };
    source.onopen = () => done("open");
  }), at.target + "/api/v1/status");
  at.report(`${where}: EventSource`, events === "refused", events);
}

// framed says whether some frame shows a document of the service.
async function framed(at, page) {
  for (const frame of page.frames().slice(1)) {
    if (frame.url().startsWith(at.target) && (await frame.evaluate("document.documentElement.outerHTML").catch(() => "")).length > 100) return true;
  }
  return false;
}

async function byFrame(at, page, where) {
  for (const path of ["/ui", "/api/v1/ui", "/docs", "/docs/errors", "/api/v1/status"]) {
    await page.evaluate((url) => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.onload = done;
      frame.src = url;
      document.body.append(frame);
      setTimeout(done, 3000);
    }), at.target + path);
    at.report(`${where}: iframe of ${path}`, !(await framed(at, page)), page.frames().map((f) => f.url()).join(" "));
  }
}

async function byForm(at, page, where) {
  const home = page.url();
  for (const [name, path, enctype] of [
    ["form", "/api/v1/run/stop", "application/x-www-form-urlencoded"],
    ["form of text", "/api/v1/run/backtest", "text/plain"],
    ["form with a file", "/api/v1/run/stop", "multipart/form-data"],
  ]) {
    const [response] = await Promise.all([
      page.waitForNavigation({ timeout: 10000 }),
      page.evaluate(([url, enctype]) => {
        const form = Object.assign(document.createElement("form"), { method: "POST", action: url, enctype });
        form.append(Object.assign(document.createElement("input"), { name: '{"a":"', value: '"}' }));
        document.body.append(form);
        form.submit();
      }, [at.target + path, enctype]),
    ]);
    at.report(`${where}: ${name}`, response.status() === 403, response.status());
    await page.goto(home);
  }
}

const dial = (page, url, protocol) => page.evaluate(([url, protocol]) => new Promise((done) => {
  const socket = protocol ? new WebSocket(url, protocol) : new WebSocket(url);
  socket.onmessage = (e) => { socket.close(); done("message " + e.data.slice(0, 40)); };
  socket.onerror = () => done("refused");
  setTimeout(() => done("nothing"), 5000);
}), [url, protocol]);

async function byStream(at, page, where) {
  for (const protocol of ["", "assay.v1.rich"]) {
    const end = await dial(page, at.stream, protocol);
    at.report(`${where}: WebSocket ${protocol}`, end === "refused", end);
  }
}

// byPopup: the opener loses hold of a window of the service.
async function byPopup(at, page, where) {
  const [popup] = await Promise.all([
    page.waitForEvent("popup"),
    page.evaluate((url) => { window.victim = window.open(url); }, at.target + "/ui"),
  ]);
  // The opener's reference is cut when the answer comes: to it the window is closed then.
  const lost = await page.waitForFunction("victim.closed", null, { timeout: 10_000 }).then(() => true, (e) => e);
  at.report(`${where}: hold of a window`, lost === true && !popup.isClosed(), lost);
  await popup.close();
}

// opaque attacks from an origin that is null: a sandboxed frame.
async function opaque(at, page, where) {
  const end = await page.evaluate(([url, ws]) => new Promise((done) => {
    window.onmessage = (e) => done(e.data);
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms";
    frame.srcdoc = `<script>(async () => {
      const ends = [];
      for (const [path, o] of [["/api/v1/run/stop", {method: "POST", mode: "no-cors"}], ["/api/v1/run/reset", {method: "DELETE"}], ["/api/v1/status", {}]]) {
        try { ends.push((await fetch("${url}" + path, o)).type); } catch { ends.push("refused"); }
      }
      const s = new WebSocket("${ws}");
      s.onopen = () => parent.postMessage(ends + ",open", "*");
      s.onerror = () => parent.postMessage(ends + ",refused", "*");
    })()</` + `script>`;
    document.body.append(frame);
    setTimeout(() => done("nothing"), 5000);
  }), [at.target, at.stream]);
  at.report(`${where}: null origin`, /^(opaque|refused),refused,refused,refused$/.test(end), end);
}

// rebinding: the attacker's name resolves to the service itself, so that its pages are
// of one origin with it. Only the Host header tells.
async function rebinding(at, page) {
  const origin = `http://rebind.test:${at.port}`;
  for (const path of ["/api/v1/status", "/docs", "/ui", "/api/v1/ui", "/openapi.json", "/metrics"]) {
    const response = await page.goto(origin + path);
    at.report(`rebinding: GET ${path}`, response.status() === 403, response.status());
  }
  for (const [name, path, options] of [
    ["GET", "/api/v1/status", {}], ["POST", "/api/v1/run/stop", { method: "POST" }], ["DELETE", "/api/v1/run/reset", { method: "DELETE" }],
  ]) {
    const end = await page.evaluate(
      ([path, options, settled]) => eval(settled)(() => fetch(path, options)), [path, options, settled]);
    at.report(`rebinding: fetch ${name}`, end === "basic 403", end);
  }
  const end = await dial(page, `ws://rebind.test:${at.port}/api/v1/ws/status`, "");
  at.report("rebinding: WebSocket", end === "refused", end);
}

// own: what a page of the service itself does works.
async function own(at, page, host) {
  const origin = `http://${host}:${at.port}`;
  const response = await page.goto(origin + "/docs/errors");
  at.report(`${host}: page`, response.status() === 200 && response.headers()["x-service-api-version"] === "v1", response.status());
  const ask = (path, options = {}) => page.evaluate(
    async ([path, options]) => { const r = await fetch(path, options); return { status: r.status, body: await r.json() }; }, [path, options]);
  const get = await ask("/api/v1/status");
  at.report(`${host}: GET`, get.status === 200, JSON.stringify(get.body).slice(0, 80));
  for (const protocol of ["", "assay.v1.rich"]) {
    const end = await dial(page, origin.replace("http:", "ws:") + "/api/v1/ws/status", protocol);
    at.report(`${host}: WebSocket ${protocol}`, end.startsWith("message "), end);
  }
  return ask;
}

// everything attacks from a port beside the service and from another site.
async function everything(at, browser, service) {
  const before = await service.status();
  at.report("a run is on", before.status === "running", before.status);
  for (const [where, host] of Object.entries({ "other port": "127.0.0.1", "other site": "evil.test" })) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://${host}:${at.foreign}/`);
    for (const way of [byFetch, byElement, byFrame, byForm, byStream, byPopup, opaque]) {
      await way(at, page, where).catch((e) => at.report(`${where}: ${way.name}`, false, e));
    }
    await context.close();
  }
  const page = await browser.newPage();
  await rebinding(at, page).catch((e) => at.report("rebinding", false, e));
  const after = await service.status();
  at.report("the run goes on", after.status === "running" && after.run_id === before.run_id, after.status + " " + after.run_id);
  const metrics = await (await fetch(at.target + "/metrics")).text();
  at.report("the service refused", /assay_http_requests_total\{[^}]*code="403"[^}]*\} [1-9]/.test(metrics), "no 403 was counted");

  await own(at, page, "localhost");
  const ask = await own(at, page, "127.0.0.1");
  const stop = await ask("/api/v1/run/stop", { method: "POST" });
  at.report("own: stop", stop.status === 200, JSON.stringify(stop.body));
  const reset = await ask("/api/v1/run/reset", { method: "DELETE" });
  at.report("own: reset", reset.status === 200, JSON.stringify(reset.body));
}
