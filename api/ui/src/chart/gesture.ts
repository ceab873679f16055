// Whether the person moves the chart by wheel, finger or pointer. The library also moves
// what is visible by itself, such as when its element changes its size.
const starts = ["wheel", "pointerdown", "pointermove", "touchmove"] as const;
const ends = ["pointerup", "pointercancel", "blur"] as const;
/** A flick of a finger rolls on for so long, ms. */
const coasting = 1500;

export class Gesture {
  private last = -Infinity;
  /** A button or finger is down: data must not be exchanged under it. */
  held = false;
  private readonly stop: () => void;

  constructor(element: HTMLElement, private readonly released: () => void) {
    for (const kind of starts) element.addEventListener(kind, this.on, { passive: true, capture: true });
    for (const kind of ends) window.addEventListener(kind, this.off);
    this.stop = () => {
      for (const kind of starts) element.removeEventListener(kind, this.on, { capture: true });
      for (const kind of ends) window.removeEventListener(kind, this.off);
    };
  }

  /** Whether a move of now is the person's. */
  get active(): boolean {
    return this.held || performance.now() - this.last < coasting;
  }

  end() {
    this.stop();
  }

  private readonly on = (e: Event) => {
    if (e.type === "pointerdown") this.held = true;
    if (e.type !== "pointermove" || this.held) this.last = performance.now();
  };

  private readonly off = () => {
    if (!this.held) return;
    this.held = false;
    this.last = performance.now();
    this.released();
  };
}
