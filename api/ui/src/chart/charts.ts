// What the page uses of the chart library. It is bundled into a script of its own, so
// nothing else may be here.
export { BaselineSeries, CandlestickSeries, HistogramSeries, LineSeries, createChart } from "lightweight-charts";
