// Measuring what the page costs. Where it can be, a cost is the main thread's own CPU
// time: other work on the machine's cores makes the clock run on, but not this.

/** Records a trace of the page while the body runs. */
export async function trace(browser, page, body) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing"] });
  try {
    await page.evaluate(() => performance.mark("measure-begin"));
    await body();
    await page.evaluate(() => performance.mark("measure-end"));
  } finally {
    var text = await browser.stopTracing();
  }
  return new Trace(JSON.parse(text.toString()).traceEvents);
}

const scripts = new Set(["FunctionCall", "EvaluateScript", "FireAnimationFrame", "TimerFire", "EventDispatch", "RunMicrotasks", "WebSocketReceive", "XHRReadyStateChange"]);

export class Trace {
  constructor(events) {
    const [begin, end] = ["measure-begin", "measure-end"].map((name) => events.find((e) => e.name === name));
    this.events = events
      .filter((e) => e.pid === begin.pid && e.tid === begin.tid && "XI".includes(e.ph) && e.ts >= begin.ts && e.ts <= end.ts)
      .map((e) => ({ dur: 0, ...e }))
      .sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  }

  /** The tasks of the main thread: {ms} is CPU time, {clock} what the clock says. */
  tasks() {
    return this.events.filter((e) => e.name === "ThreadControllerImpl::RunTask").map((e) => ({ ms: cpu(e), clock: e.dur / 1000, at: e.ts }));
  }

  /** What ran in the longest tasks, for a failure's text. */
  explain(limit) {
    return this.tasks().filter((task) => task.ms > limit).map((task) => {
      const inside = this.events.filter((e) => e.ts >= task.at && e.ts < task.at + task.clock * 1000 && cpu(e) > 5 && !e.name.endsWith("RunTask"));
      return `${task.ms.toFixed(0)} ms: ` + inside.slice(0, 8).map((e) => `${e.name} ${cpu(e).toFixed(0)} ${e.args?.data?.functionName ?? e.args?.data?.type ?? ""}`).join(", ");
    });
  }

  /** Milliseconds from the last message of the stream to the frame that it made. */
  answerToPixels() {
    const frames = this.events.filter((e) => e.name === "Commit");
    const drawn = this.events.filter((e) => e.name === "WebSocketReceive").map((e) => [e, frames.find((frame) => frame.ts > e.ts)]);
    const [message, frame] = drawn.filter(([, frame]) => frame).at(-1) ?? [];
    return frame ? (frame.ts + frame.dur - message.ts) / 1000 : Infinity;
  }

  /** CPU time of scripts for each frame that was made. */
  scriptingPerFrame() {
    const frames = [];
    let [outer, sum] = [0, 0];
    for (const e of this.events) {
      if (e.name === "Commit") {
        frames.push(sum);
        sum = 0;
      }
      if (!scripts.has(e.name) || e.ts < outer) continue; // what another one contains is counted with it
      outer = e.ts + e.dur;
      sum += cpu(e);
    }
    return frames;
  }
}

const cpu = (event) => (event.tdur ?? event.dur) / 1000;

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

/** Heap in bytes, nodes and listeners after everything that can be thrown away is. */
export async function held(page) {
  const session = await page.context().newCDPSession(page);
  try {
    for (let i = 0; i < 2; i++) await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
    return { heap: usedSize, nodes, listeners: jsEventListeners };
  } finally {
    await session.detach();
  }
}
