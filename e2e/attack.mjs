// Pages of other origins attack a running service through a real browser. Each line on
// standard output is one finding: {"name", "ok", "detail"}. e2e_test.go starts this
// program with the service's address and holds the findings against nothing but ok.
import http from "node:http";
import { chromium } from "playwright-core";

const [target, executablePath] = process.argv.slice(2);
const port = new URL(target).port;
const wsTarget = target.replace("http:", "ws:");

function report(name, ok, detail = "") {
  process.stdout.write(JSON.stringify({ name, ok, detail: String(detail) }) + "\n");
}

async function status() {
  return (await fetch(target + "/api/v1/status")).json();
}

// foreign serves the attacker's empty page on a port of its own.
const foreign = http.createServer((_, response) => {
  response.setHeader("Content-Type", "text/html");
  response.end("<!doctype html><title>foreign</title><body></body>");
});
await new Promise((listening) => foreign.listen(0, "127.0.0.1", listening));
const foreignPort = foreign.address().port;

const browser = await chromium.launch({
  executablePath,
  args: [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP *.example 127.0.0.1",
  ],
});

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
  "GET of the page": ["/docs", { mode: "no-cors" }],
};

async function byFetch(page, where) {
  for (const [name, [path, options]] of Object.entries(requests)) {
    const end = await page.evaluate(
      ([url, options, settled]) => eval(settled)(() => fetch(url, options)), [target + path, options, settled]);
    report(`${where}: ${name}`, end.startsWith("refused") || end === "opaque 0", end);
  }
  await page.evaluate((url) => navigator.sendBeacon(url, "{}"), target + "/api/v1/run/stop");
}

async function byElement(page, where) {
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
    ["link", "href", "/api/v1/status"], ["object", "data", "/docs"], ["embed", "src", "/docs"],
  ]) {
    const end = await load(tag, attribute, target + path);
    // An object that shows the browser's own error page fires load as well.
    const harmless = end.startsWith("refused") || (tag === "embed" || tag === "object") && !(await framed(page));
    report(`${where}: ${tag} of ${path}`, harmless, end);
  }
  const events = await page.evaluate((url) => new Promise((done) => {
    const source = new EventSource(url);
    source.onerror = () => { source.close(); done("refused"); };
    source.onopen = () => done("open");
  }), target + "/api/v1/status");
  report(`${where}: EventSource`, events === "refused", events);
}

// framed says whether some frame shows a document of the service.
async function framed(page) {
  for (const frame of page.frames().slice(1)) {
    if (frame.url().startsWith(target) && (await frame.evaluate("document.documentElement.outerHTML").catch(() => "")).length > 100) return true;
  }
  return false;
}

async function byFrame(page, where) {
  for (const path of ["/docs", "/ui", "/docs/errors", "/api/v1/status"]) {
    await page.evaluate((url) => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.onload = done;
      frame.src = url;
      document.body.append(frame);
      setTimeout(done, 3000);
    }), target + path);
    report(`${where}: iframe of ${path}`, !(await framed(page)), page.frames().map((f) => f.url()).join(" "));
  }
}

async function byForm(page, where) {
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
      }, [target + path, enctype]),
    ]);
    report(`${where}: ${name}`, response.status() === 403, response.status());
    await page.goto(home);
  }
}

const dial = (page, url, protocol) => page.evaluate(([url, protocol]) => new Promise((done) => {
  const socket = protocol ? new WebSocket(url, protocol) : new WebSocket(url);
  socket.onmessage = (e) => { socket.close(); done("message " + e.data.slice(0, 40)); };
  socket.onerror = () => done("refused");
  setTimeout(() => done("nothing"), 5000);
}), [url, protocol]);

async function byStream(page, where) {
  for (const protocol of ["", "assay.v1.rich"]) {
    const end = await dial(page, wsTarget + "/api/v1/ws/status", protocol);
    report(`${where}: WebSocket ${protocol}`, end === "refused", end);
  }
}

// byPopup: the opener loses hold of a window of the service.
async function byPopup(page, where) {
  const [popup] = await Promise.all([
    page.waitForEvent("popup"),
    page.evaluate((url) => { window.victim = window.open(url); }, target + "/docs"),
  ]);
  await popup.waitForLoadState();
  const seen = await page.evaluate("victim.closed");
  report(`${where}: hold of a window`, seen === true, seen);
  await popup.close();
}

// opaque attacks from an origin that is null: a sandboxed frame.
async function opaque(page, where) {
  const end = await page.evaluate(([url, ws]) => new Promise((done) => {
    window.onmessage = (e) => done(e.data);
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms";
    frame.srcdoc = `<script>(async () => {
      const ends = [];
      for (const [path, o] of [["/api/v1/run/stop", {method: "POST", mode: "no-cors"}], ["/api/v1/run/reset", {method: "DELETE"}], ["/api/v1/status", {}]]) {
        try { ends.push((await fetch("${url}" + path, o)).type); } catch { ends.push("refused"); }
      }
      const s = new WebSocket("${ws}/api/v1/ws/status");
      s.onopen = () => parent.postMessage(ends + ",open", "*");
      s.onerror = () => parent.postMessage(ends + ",refused", "*");
    })()</` + `script>`;
    document.body.append(frame);
    setTimeout(() => done("nothing"), 5000);
  }), [target, wsTarget]);
  report(`${where}: null origin`, /^(opaque|refused),refused,refused,refused$/.test(end), end);
}

// rebinding: the attacker's name resolves to the service itself, so that its pages are
// of one origin with it. Only the Host header tells.
async function rebinding(page) {
  const origin = `http://rebind.example:${port}`;
  for (const path of ["/api/v1/status", "/docs", "/ui", "/openapi.json", "/metrics"]) {
    const response = await page.goto(origin + path);
    report(`rebinding: GET ${path}`, response.status() === 403, response.status());
  }
  for (const [name, path, options] of [
    ["GET", "/api/v1/status", {}], ["POST", "/api/v1/run/stop", { method: "POST" }], ["DELETE", "/api/v1/run/reset", { method: "DELETE" }],
  ]) {
    const end = await page.evaluate(
      ([path, options, settled]) => eval(settled)(() => fetch(path, options)), [path, options, settled]);
    report(`rebinding: fetch ${name}`, end === "basic 403", end);
  }
  const end = await dial(page, `ws://rebind.example:${port}/api/v1/ws/status`, "");
  report("rebinding: WebSocket", end === "refused", end);
}

// own: what a page of the service itself does works.
async function own(page, host) {
  const origin = `http://${host}:${port}`;
  const response = await page.goto(origin + "/docs/errors");
  report(`${host}: page`, response.status() === 200 && response.headers()["x-service-api-version"] === "v1", response.status());
  const ask = (path, options = {}) => page.evaluate(
    async ([path, options]) => { const r = await fetch(path, options); return { status: r.status, body: await r.json() }; }, [path, options]);
  const get = await ask("/api/v1/status");
  report(`${host}: GET`, get.status === 200, JSON.stringify(get.body).slice(0, 80));
  for (const protocol of ["", "assay.v1.rich"]) {
    const end = await dial(page, origin.replace("http:", "ws:") + "/api/v1/ws/status", protocol);
    report(`${host}: WebSocket ${protocol}`, end.startsWith("message "), end);
  }
  return ask;
}

try {
  const before = await status();
  report("a run is on", before.status === "running", before.status);
  for (const [where, host] of Object.entries({ "other port": "127.0.0.1", "other site": "evil.example" })) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://${host}:${foreignPort}/`);
    for (const attack of [byFetch, byElement, byFrame, byForm, byStream, byPopup, opaque]) {
      await attack(page, where).catch((e) => report(`${where}: ${attack.name}`, false, e));
    }
    await context.close();
  }
  const page = await browser.newPage();
  await rebinding(page).catch((e) => report("rebinding", false, e));
  const after = await status();
  report("the run goes on", after.status === "running" && after.run_id === before.run_id, after.status + " " + after.run_id);
  const metrics = await (await fetch(target + "/metrics")).text();
  report("the service refused", /assay_http_requests_total\{[^}]*code="403"[^}]*\} [1-9]/.test(metrics), "no 403 was counted");

  await own(page, "localhost");
  const ask = await own(page, "127.0.0.1");
  const stop = await ask("/api/v1/run/stop", { method: "POST" });
  report("own: stop", stop.status === 200, JSON.stringify(stop.body));
  const reset = await ask("/api/v1/run/reset", { method: "DELETE" });
  report("own: reset", reset.status === 200, JSON.stringify(reset.body));
} catch (e) {
  report("the program", false, e.stack);
} finally {
  await browser.close();
  foreign.close();
}
report("end", true);
