// Limits how often something is done.

/** Calls do at most once per ms: at once after a quiet time, else at the end of it. */
export class Throttle {
  private last = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly ms: number,
    private readonly act: () => void,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  call() {
    if (this.timer !== undefined) return;
    const wait = this.last + this.ms - this.clock();
    if (wait <= 0) this.run();
    else this.timer = setTimeout(() => this.run(), wait);
  }

  /** Does it at once, and not again for a call before. */
  now() {
    this.cancel();
    this.run();
  }

  cancel() {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private run() {
    this.timer = undefined;
    this.last = this.clock();
    this.act();
  }
}

/** Calls act once the calls have paused for ms. */
export class Debounce {
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ms: number, private readonly act: () => void) {}

  call(ms = this.ms) {
    this.cancel();
    this.timer = setTimeout(this.act, ms);
  }

  cancel() {
    clearTimeout(this.timer);
  }
}

/** Calls act once in the next frame that is drawn; never while the page is hidden. */
export class NextFrame {
  private frame = 0;

  constructor(private readonly act: () => void) {}

  call() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.act();
    });
  }

  cancel() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }
}
