// A grid of rows of which only those in view are in the DOM.
import { Component } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { dash, headOf, type Column } from "./columns.ts";
import { headRow } from "./keys.ts";
import { Pane } from "./pane.ts";
import type { Grid } from "./view.ts";
import type { Widths } from "./widths.ts";

/** Draws a grid; its state is kept by what is given. */
export function GridTable<R>({ grid }: { grid: Grid<R> }) {
  const pane = useMemo(() => new Pane(grid), [grid]);
  const box = useRef<HTMLDivElement>(null), probe = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (box.current && probe.current ? pane.attach(box.current, probe.current) : undefined), [pane]);
  const arrangement = grid.arrangement?.value ?? "", before = useRef(arrangement);
  useEffect(() => {
    if (before.current !== arrangement) pane.toTop();
    before.current = arrangement;
  }, [arrangement]);
  const { tracks, least } = pane.columns.value;
  return (
    <div
      ref={box} class="grid" role="grid" aria-label={grid.label} aria-readonly="true" aria-rowcount={grid.view.value.total + 1}
      aria-colcount={grid.columns.length} style={{ "--tracks": tracks, "--least": least, "max-height": pane.room.value }}
      onScroll={pane.onScroll} onKeyDown={pane.onKeyDown} onClick={pane.onClick} onFocusIn={pane.onFocusIn} onFocusOut={pane.onFocusOut}
    >
      <div ref={probe} class="grid-probe" role="presentation" />
      <Head grid={grid} />
      <Body pane={pane} />
    </div>
  );
}

function Head<R>({ grid }: { grid: Grid<R> }) {
  const active = grid.active.value;
  return (
    <div class="grid-head" role="rowgroup">
      <div class="grid-row" role="row" aria-rowindex={1}>
        {grid.columns.map((c, i) => <HeadCell key={c.key} grid={grid} column={c} at={i} reached={active.row === headRow && active.column === i} />)}
      </div>
    </div>
  );
}

function HeadCell<R>({ grid, column, at, reached }: { grid: Grid<R>; column: Column<R>; at: number; reached: boolean }) {
  const { sorting } = grid, label = headOf(column, grid.quote);
  const look = column.look === "right" ? "number" : "";
  if (!sorting) return <div role="columnheader" class={look} title={column.about}>{label}</div>;
  const now = sorting.now.value, why = sorting.why.value;
  const mine = now?.column === column.key;
  return (
    <div role="columnheader" class={look} aria-sort={mine ? (now.down ? "descending" : "ascending") : undefined}>
      <button
        type="button" data-head={at} tabIndex={reached ? 0 : -1} aria-disabled={why ? "true" : undefined} title={why ? `${column.about}. ${why}` : column.about}
        onClick={() => sorting.press(column.key)}
      >
        {label}{mine && <span aria-hidden="true">{now.down ? "▼" : "▲"}</span>}
      </button>
    </div>
  );
}

function Body<R>({ pane }: { pane: Pane<R> }) {
  const { grid } = pane;
  const view = grid.view.value, active = grid.active.value, selected = grid.selected.value;
  const { height, shift } = pane.window.value, { rowHeight } = pane.size.value;
  grid.target.value;
  useLayoutEffect(() => pane.after());
  const at = pane.placeOf(active.row);
  return (
    <div class="grid-body" role="rowgroup" style={{ height: `${height}px` }}>
      {pane.rows.value.map(({ place, row, slot }) => (
        <Row
          key={slot} columns={grid.columns} widths={pane.widths} value={view.get(row)} row={row} place={place} y={place * rowHeight + shift}
          selected={row === selected} active={place === at ? active.column : -1}
        />
      ))}
    </div>
  );
}

interface RowProps<R> {
  columns: readonly Column<R>[];
  widths: Widths;
  value: R | undefined;
  row: number;
  place: number;
  y: number;
  selected: boolean;
  /** The column that the Tab key leads to; -1 = none in this row. */
  active: number;
}

/** A row is drawn again only when something of it is another. */
class Row<R> extends Component<RowProps<R>> {
  override shouldComponentUpdate(next: RowProps<R>) {
    const now = this.props;
    return next.value !== now.value || next.row !== now.row || next.place !== now.place || next.y !== now.y || next.selected !== now.selected
      || next.active !== now.active || next.columns !== now.columns
      // Other widths have not seen the texts of this row.
      || next.widths !== now.widths;
  }

  override render() {
    const { columns, value, row, place, y, selected, active } = this.props;
    return (
      <div
        class="grid-row" role="row" data-row={row} aria-rowindex={place + 2} aria-selected={selected} aria-busy={value === undefined ? "true" : undefined}
        style={{ transform: `translateY(${y}px)` }}
      >
        {columns.map((c, i) => this.cell(c, i, value, i === active))}
      </div>
    );
  }

  private cell(column: Column<R>, i: number, value: R | undefined, active: boolean) {
    const text = value === undefined ? "…" : column.text(value);
    this.props.widths.seen(i, text);
    const tone = value !== undefined && column.tone?.(value);
    const look = column.look === "right" ? "number" : column.look === "mono" ? "mono" : "";
    const note = (value !== undefined && column.note?.(value)) || (text === dash ? "none" : text.length > 20 ? text : undefined);
    return (
      <div key={i} role="gridcell" class={tone ? `${look} ${tone}` : look} tabIndex={active ? 0 : undefined} title={note}>
        {text}
      </div>
    );
  }
}
