import type { CandleTuple } from "../api/types.ts";
import { equal, ok, test } from "../testing.ts";
import * as s from "./scale.ts";

const prices = (...closes: number[]): CandleTuple[] => closes.map((c, i) => [i, c, c, c, c, 1]);

test("chart: prices keep the decimals that matter", () => {
  equal(s.priceDigits(prices(61975.12, 61000.5)), 2);
  equal(s.priceDigits(prices(61975, 61000)), 0);
  equal(s.priceDigits(prices(0.00001234, 0.00001235)), 8);
  equal(s.priceDigits(prices(1e-8, 2e-8)), 8);
  equal(s.priceDigits(prices(1.23456789e11, 5e11)), 0);
  ok(s.priceDigits(prices(1 / 3, 2 / 3)) <= 8, "noise is no precision");
  equal(s.priceDigits([]), 0);
});

test("chart: money has two decimals until it is very large or very small", () => {
  equal(s.moneyDigits([10000, 14617.56]), 2);
  equal(s.moneyDigits([10000]), 2);
  equal(s.moneyDigits([2e6, 9e6]), 0);
  equal(s.moneyDigits([0.001, 0.002]), 6);
  equal(s.moneyDigits([9935.596, 10000]), 2);
  equal(s.moneyDigits([]), 2);
  equal(s.moneyDigits([0, 0]), 2);
});

test("chart: numbers on the axis", () => {
  equal(s.axisNumber(61975.5, 2), "61\u202f975.50");
  equal(s.axisNumber(1.5e15, 2), "1.500e+15");
  equal(s.axisTicks([60000, 62500, 65000], 2), ["60\u202f000", "62\u202f500", "65\u202f000"]);
  equal(s.axisTicks([0.1, 0.15, 0.2], 2), ["0.10", "0.15", "0.20"]);
  equal(s.axisDrawdown(-0.0123), "\u22121.23\u202f%");
  equal(s.axisTime(1709647200), "2024-03-05 14:00 UTC");
  equal([0, 1, 2, 3, 4, 9].map((kind) => s.tickText(1709647207, kind)), ["2024", "2024-03", "03-05", "14:00", "14:00:07", "2024-03-05"]);
});

test("chart: an average shares the scale of prices, an oscillator does not", () => {
  const candles = prices(100, 110, 120);
  ok(s.amongPrices([[0, 105], [1, 118]], candles), "average");
  ok(!s.amongPrices([[0, 30], [1, 70]], candles), "oscillator");
  ok(s.amongPrices([], candles), "nothing known yet");
  ok(s.amongPrices([[0, -3]], [[0, -5, -1, -9, -5, 1]]), "below zero");
});

test("chart: lines look different", () => {
  const looks = Array.from({ length: 40 }, (_, i) => s.lookOf(i));
  equal(new Set(looks.map((l) => l.token + l.style + l.width)).size, 40);
  equal(s.lookOf(42), s.lookOf(2));
});
