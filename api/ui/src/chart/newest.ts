// The newest visible value of a series on its axis. The library would write it in black or
// white, which is too faint on some of the colours.
import type { ISeriesPrimitive, ISeriesPrimitiveAxisView, SeriesAttachedParameter, SeriesType, Time } from "lightweight-charts";
import type { Palette } from "./palette.ts";

export class NewestValue implements ISeriesPrimitive<Time> {
  private host: SeriesAttachedParameter<Time> | null = null;
  private readonly labels: ISeriesPrimitiveAxisView[] = [{
    coordinate: () => this.host?.series.priceToCoordinate(this.value?.price ?? 0) ?? 0,
    text: () => (this.value ? this.host!.series.priceFormatter().format(this.value.price) : ""),
    textColor: () => this.palette.panel,
    backColor: () => this.value?.color ?? this.palette.muted,
    visible: () => this.value !== null,
    tickVisible: () => false,
  }];

  constructor(private palette: Palette) {}

  attached(host: SeriesAttachedParameter<Time, SeriesType>) {
    this.host = host;
  }

  detached() {
    this.host = null;
  }

  priceAxisViews() {
    return this.labels;
  }

  color(palette: Palette) {
    this.palette = palette;
    this.host?.requestUpdate();
  }

  private get value() {
    const last = this.host?.series.lastValueData(false);
    return last && !last.noData ? last : null;
  }
}
