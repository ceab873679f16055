// Recycling: rows that stay keep their element, rows that come take over those of rows
// that went. The elements stand in the order of the rows, which is the order they are
// read in, and one that stays is never moved: moving takes the focus away from it.

interface Held {
  row: number;
  slot: number;
}

export class Slots {
  private held: Held[] = [];
  private idle: number[] = [];
  private next = 0;

  /** The slot of each row, in order. */
  assign(rows: readonly number[]): number[] {
    const wanted = new Set(rows), kept = new Map<number, number>();
    const free = this.free(wanted, kept);
    const slots: (number | undefined)[] = [];
    let gap = 0;
    for (const row of rows) {
      const mine = kept.get(row);
      if (mine !== undefined) gap++;
      // Elements between the same two that stay need no move.
      slots.push(mine ?? free[gap]?.shift());
    }
    const left = free.flat(), lacking = slots.filter((slot) => slot === undefined).length;
    // The fewer elements are the ones that are moved.
    const movable = lacking < kept.size ? left.splice(0) : [];
    const all = slots.map((slot) => slot ?? movable.shift() ?? this.idle.pop() ?? this.next++);
    this.idle.push(...movable, ...left);
    this.held = rows.map((row, i) => ({ row, slot: all[i] as number }));
    return all;
  }

  /** The slots that no row wants any more, in groups between those that stay. */
  private free(wanted: ReadonlySet<number>, kept: Map<number, number>): number[][] {
    const groups: number[][] = [[]];
    for (const { row, slot } of this.held) {
      if (wanted.has(row)) {
        kept.set(row, slot);
        groups.push([]);
      } else {
        groups.at(-1)?.push(slot);
      }
    }
    return groups;
  }
}
