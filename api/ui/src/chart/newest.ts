// The newest visible value of a series on its axis. The library would write it in black or
// white, which is too faint on some of the colours, and on top of the axis' own numbers.
import type { ISeriesPrimitive, ISeriesPrimitiveAxisView, SeriesAttachedParameter, SeriesType, Time } from "lightweight-charts";
import type { Palette } from "./palette.ts";

export interface Newest {
  price: number;
  color: string;
}

export class NewestValue implements ISeriesPrimitive<Time> {
  /** The value as it was when the series was last drawn. */
  value: Newest | null = null;
  private host: SeriesAttachedParameter<Time> | null = null;
  private readonly labels: ISeriesPrimitiveAxisView[] = [{
    coordinate: () => this.coordinate ?? 0,
    text: () => (this.value ? this.host!.series.priceFormatter().format(this.value.price) : ""),
    textColor: () => this.palette.panel,
    backColor: () => this.value?.color ?? this.palette.muted,
    visible: () => this.value !== null,
    tickVisible: () => false,
  }];

  /** read finds the value; without it the library does. */
  constructor(private palette: Palette, private readonly read?: () => Newest | null) {}

  attached(host: SeriesAttachedParameter<Time, SeriesType>) {
    this.host = host;
  }

  detached() {
    this.host = null;
  }

  updateAllViews() {
    const last = this.read ? this.read() : this.host?.series.lastValueData(false);
    this.value = last && "price" in last ? last : null;
  }

  priceAxisViews() {
    return this.labels;
  }

  /** Where it stands, pixels from the top. */
  get coordinate(): number | null {
    return this.value && (this.host?.series.priceToCoordinate(this.value.price) ?? null);
  }

  color(palette: Palette) {
    this.palette = palette;
    this.host?.requestUpdate();
  }
}
