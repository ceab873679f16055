// Puts the frames of one connection in order. Broadcasts are numbered without gaps, so
// a missing number is a lost or late frame. What comes behind a gap is held until the
// missing frames or a snapshot arrive: nothing is ever applied out of order or twice.
import { isReply, type Frame } from "./frame.ts";

export interface Step {
  /** To be applied now, in this order. */
  apply: Frame[];
  /** A gap has just been found: a snapshot is needed. */
  gap: boolean;
}

/** More than this behind a gap is given up; the snapshot covers it or another gap is found. */
const mostHeld = 256;

export class Sequence {
  /** The newest applied broadcast; -1 before the first snapshot. */
  last = -1;
  /** Whether only a snapshot (or the missing frames) can go on from here. */
  waiting = true;
  private held: Frame[] = [];

  take(frame: Frame): Step {
    if (frame.type === "hello") return { apply: [frame], gap: false };
    if (frame.type === "snapshot") return this.snapshot(frame);
    if (isReply(frame)) return this.reply(frame);
    return this.broadcast(frame);
  }

  /** A snapshot older than what has been applied would undo it. */
  private snapshot(frame: Frame): Step {
    if (frame.seq < this.last) return { apply: [], gap: false };
    this.last = frame.seq;
    this.waiting = false;
    const apply = [frame, ...this.drain()];
    this.waiting = this.held.length > 0;
    return { apply, gap: this.waiting };
  }

  /** An answer is queued behind the broadcast whose number it carries. */
  private reply(frame: Frame): Step {
    const gap = !this.waiting && frame.seq > this.last;
    this.waiting ||= gap;
    return { apply: [], gap };
  }

  private broadcast(frame: Frame): Step {
    if (frame.seq <= this.last) return { apply: [], gap: false };
    const before = this.waiting;
    this.held.push(frame);
    if (this.held.length > mostHeld) this.held.shift();
    const apply = this.last < 0 ? [] : this.drain();
    this.waiting = this.last < 0 || this.held.length > 0;
    return { apply, gap: this.waiting && !before };
  }

  /** The held frames that continue what has been applied. */
  private drain(): Frame[] {
    this.held.sort((a, b) => a.seq - b.seq);
    const apply: Frame[] = [];
    let rest = 0;
    for (const frame of this.held) {
      if (frame.seq > this.last + 1) break;
      rest++;
      if (frame.seq <= this.last) continue;
      this.last = frame.seq;
      apply.push(frame);
    }
    this.held.splice(0, rest);
    return apply;
  }
}
