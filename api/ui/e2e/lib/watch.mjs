// Everything that a page asks for, prints and breaks. A page that does what it must not
// do fails its test, whatever the test was about.

/** The only requests of the dashboard: assets by their names, the rest as in its list. */
const own = [
  /^GET (\/ui|\/api\/v1\/ui)$/, /^GET \/ui\/(app|charts|icon|pages)-[0-9a-f]{10}\.(js|css|svg)$/,
  /^GET \/ui\/((runs|families|falsifications)(\/[^/]+)?|compare|data|governance|live)$/, /^GET \/ui\/licenses$/,
  /^GET \/api\/v1\/(health|status|results|strategies|exchanges)$/,
  /^POST \/api\/v1\/run\/(backtest|live|stop|controls)$/, /^DELETE \/api\/v1\/run\/reset$/, /^WS \/api\/v1\/ws\/status$/,
];

/** What the pages beside the runner read and do; their lists have queries. */
const lab = /^(GET|POST|PUT|DELETE) \/api\/v1\/(runs|compare|families|falsifications|jobs|datasets|uploads|candidates|governance|meta)(\/|$)/;

export class Watch {
  requests = [];
  console = [];
  #problems = [];
  #allowed = [];
  #own = own;

  constructor(origin) {
    this.origin = origin;
  }

  /** Lines of the console that the test provokes itself: the browser prints one for each
   *  answer from 400 up and for each stream that breaks. */
  allow(...patterns) {
    this.#allowed.push(...patterns);
  }

  /** Further requests, of pages other than the dashboard. */
  also(...patterns) {
    this.#own = [...this.#own, ...patterns];
  }

  async attach(context) {
    await context.exposeBinding("reportViolation", (_, text) => this.#problems.push("CSP: " + text));
    await context.addInitScript(() => {
      const tell = globalThis.reportViolation;
      addEventListener("securitypolicyviolation", (e) => tell(`${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`));
    });
    context.on("request", (request) => this.#request(request.method(), request.url(), request));
    context.on("console", (message) => this.#line(message.type(), message.text()));
    context.on("weberror", (e) => this.#problems.push("page error: " + (e.error()?.stack ?? e.error())));
    context.on("page", (page) => page.on("websocket", (socket) => this.#request("WS", socket.url())));
  }

  #request(method, url, request) {
    if (url.startsWith("data:") || url.startsWith("blob:")) return;
    const address = new URL(url);
    const line = `${method} ${address.pathname}`;
    this.requests.push({ line, url, request });
    if (address.host !== new URL(this.origin).host) this.#problems.push("foreign request: " + method + " " + url);
    else if (lab.test(line)) return;
    else if (address.search && !address.pathname.startsWith("/ui/compare")) this.#problems.push("a request with a query: " + url);
    else if (!this.#own.some((pattern) => pattern.test(line))) this.#problems.push("a request that is not of the list: " + line);
  }

  #line(type, text) {
    this.console.push({ type, text });
    if (["error", "warning", "assert"].includes(type) && !this.#allowed.some((pattern) => pattern.test(text))) {
      this.#problems.push(`console ${type}: ${text}`);
    }
  }

  /** Judged when all lines have come: a test may allow what it has provoked before. */
  problems() {
    return this.#problems.filter((line) => !this.#allowed.some((pattern) => pattern.test(line)));
  }
}

/** What the browser prints about an answer with this status. */
export const answered = (status) => new RegExp(`the server responded with a status of ${status}\\b`);
/** What it prints when the service is gone or a stream breaks. */
export const broken = /WebSocket connection to .* failed|net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|CONNECTION_CLOSED|SOCKET_NOT_CONNECTED)/;
