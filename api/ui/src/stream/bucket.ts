/** Lets through so many at once and so many a second. */
export class Bucket {
  private level: number;
  private last = 0;

  constructor(private readonly burst: number, private readonly rate: number) {
    this.level = burst;
  }

  /** Takes one if there is one: 0. Otherwise the milliseconds until there is. */
  take(now: number): number {
    this.level = Math.min(this.burst, this.level + (this.rate * (now - this.last)) / 1000);
    this.last = now;
    if (this.level < 1) return Math.ceil(((1 - this.level) / this.rate) * 1000);
    this.level--;
    return 0;
  }
}
