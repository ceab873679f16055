import { equal, test } from "../testing.ts";
import * as f from "./format.ts";

test("money groups thousands and says n/a", () => {
  equal(f.money(14617.564), "14\u202f617.56");
  equal(f.money(-0.001), "0.00");
  equal(f.money(-1234567.891), "\u22121\u202f234\u202f567.89");
  equal(f.money(null), "n/a");
  equal(f.signedMoney(118.52025), "+118.52");
  equal(f.signedMoney(-3.1), "\u22123.10");
  equal(f.signedMoney(0), "0.00");
});

test("a run with little money shows more of its decimals", () => {
  equal([10000, 100, 1, 0.9999999999, 0.01, 0, NaN].map(f.decimalsOf), [2, 2, 4, 4, 6, 2, 2]);
  equal(f.money(0.005326, f.decimalsOf(0.005)), "0.0053260");
  equal(f.signedMoney(-0.0000042, 7), "\u22120.0000042");
  equal(f.signedMoney(0.00000004, 7), "0.0000000");
});

test("amounts of a row keep two digits below 1", () => {
  equal(f.amount(1834.204), "1\u202f834.20");
  equal(f.amount(0), "0.00");
  equal(f.amount(0.5), "0.50");
  equal(f.amount(0.0999999), "0.10");
  equal(f.signedAmount(0.00034), "+0.00034");
  equal(f.signedAmount(-0.0123), "\u22120.012");
  equal(f.signedAmount(-41.2), "\u221241.20");
  equal(f.signedAmount(null), "n/a");
  equal(f.signedExact(0.15), "+0.15");
  equal(f.signedExact(-2), "\u22122");
  equal(f.signedExact(0), "0");
});

test("fractions become percents", () => {
  equal(f.percent(0.0123), "1.23\u202f%");
  equal(f.signedPercent(0.461756), "+46.18\u202f%");
  equal(f.signedPercent(-0.00001), "0.00\u202f%");
  equal(f.percent(undefined), "n/a");
  equal(f.percent(NaN), "n/a");
});

test("prices keep their digits", () => {
  equal(f.exact(61975), "61\u202f975");
  equal(f.exact(0.00012345), "0.00012345");
  equal(f.exact(-0.1), "\u22120.1");
  equal(f.exact(0.1 + 0.2), "0.3");
  equal(f.exact(64940.59), "64\u202f940.59");
  equal(f.exact(1.2345e-9), "0.0000000012345");
  equal(f.exact(123456789012.34), "123\u202f456\u202f789\u202f012");
  equal(f.exact(605152504.893745, 8), "605\u202f152\u202f505");
  equal(f.exact(123456789012.34, 17), "123\u202f456\u202f789\u202f012.34");
});

test("times are UTC", () => {
  equal(f.time("2024-03-05T14:00:00.000Z"), "2024-03-05 14:00");
  equal(f.time("2024-03-05T14:00:07.000Z"), "2024-03-05 14:00:07");
  equal(f.time("2024-03-05T14:00:07.250Z"), "2024-03-05 14:00:07.250");
  equal(f.time(null), "n/a");
  equal(f.duration(2), "00:02");
  equal(f.duration(3723), "1:02:03");
  equal(f.duration(176523), "2 d 1 h");
  equal(f.duration(null), "n/a");
});

test("words and ids", () => {
  equal(f.words("max_drawdown_day"), "Max drawdown day");
  equal(f.shortId("svc_01jd2q7z9v8k3m6t4r1x5c0wbn"), "svc_01jd2q…");
  equal(f.shortId("o-000143"), "o-000143");
});
