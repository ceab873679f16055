"""The indicators by TA-Lib, and by pandas where TA-Lib has none: candles come in as CSV (open, high,
low, close, volume) on the standard input, a row for each line goes out: name, first candle with a value,
mean, values."""

import sys

import numpy as np
import pandas as pd
import talib
from numpy.lib.stride_tricks import sliding_window_view

candles = pd.read_csv(sys.stdin, dtype=float)
o, h, l, c, v = (candles[name].to_numpy() for name in candles)
close = candles["close"]
lines = {}


def put(name, values, first=0):
    """A row; values before the candle first are not compared."""
    values = np.asarray(values, dtype=float).copy()
    values[:first] = np.nan
    lines[name] = values


def averages():
    for n in (3, 20):
        put(f"DEMA {n}", talib.DEMA(c, n))
        put(f"TEMA {n}", talib.TEMA(c, n))
        put(f"KAMA {n}", talib.KAMA(c, n))
    for n in (4, 9, 20):
        put(f"HMA {n}", talib.HMA(c, n))


def momentum():
    for n, smooth, d in ((14, 3, 3), (5, 1, 3)):
        k, signal = talib.STOCH(h, l, c, n, smooth, 0, d, 0) if smooth > 1 else talib.STOCHF(h, l, c, n, d, 0)
        put(f"Stochastic {n} {smooth} {d}", k)
        put(f"Stochastic {n} {smooth} {d} D", signal)
    k, signal = talib.STOCHRSI(c, 14, 5, 3, 0)
    put("StochRSI 14 5 1 3", k)
    put("StochRSI 14 5 1 3 D", signal)
    rsi = pd.Series(talib.RSI(c, 14))
    low, high = rsi.rolling(14).min(), rsi.rolling(14).max()
    k = (100 * (rsi - low) / (high - low)).rolling(3).mean()
    signal = k.rolling(3).mean()
    put("StochRSI 14 14 3 3", k.where(signal.notna()))
    put("StochRSI 14 14 3 3 D", signal)
    for n in (2, 14):
        put(f"WilliamsR {n}", talib.WILLR(h, l, c, n))
        put(f"CCI {n}", talib.CCI(h, l, c, n))


def trend():
    for n in (2, 14):
        adx = talib.ADX(h, l, c, n)
        put(f"ADX {n}", adx)
        put(f"ADX {n} plus", talib.PLUS_DI(h, l, c, n), 2 * n - 1)
        put(f"ADX {n} minus", talib.MINUS_DI(h, l, c, n), 2 * n - 1)
    for n in (2, 25):
        down, up = talib.AROON(h, l, n)
        put(f"Aroon {n}", talib.AROONOSC(h, l, n))
        put(f"Aroon {n} up", up)
        put(f"Aroon {n} down", down)
    put("ParabolicSAR 0.02 0.2", talib.SAR(h, l, 0.02, 0.2))
    put("ParabolicSAR 0.1 0.15", talib.SAR(h, l, 0.1, 0.15))
    for n, atr, k in ((20, 10, 2), (3, 14, 1.5)):
        middle, reach = talib.EMA(c, n), k * talib.ATR(h, l, c, atr)
        put(f"Keltner {n} {atr} {k}", middle, max(n - 1, atr))
        put(f"Keltner {n} {atr} {k} upper", middle + reach)
        put(f"Keltner {n} {atr} {k} lower", middle - reach)
    line, side = talib.SUPERTREND(h, l, c, 10, 3)
    put("SuperTrend 10 3", line)
    put("SuperTrend 10 3 long", side > 0, 10)
    high, low = candles["high"], candles["low"]
    middle = {n: (high.rolling(n).max() + low.rolling(n).min()) / 2 for n in (9, 26, 52)}
    put("Ichimoku 9 26 52", middle[9], 77)
    put("Ichimoku 9 26 52 base", middle[26], 77)
    put("Ichimoku 9 26 52 A", ((middle[9] + middle[26]) / 2).shift(26), 77)
    put("Ichimoku 9 26 52 B", middle[52].shift(26))


def volume():
    for n in (3, 14):
        put(f"MFI {n}", talib.MFI(h, l, c, v, n))
        put(f"CMF {n}", talib.CMF(h, l, c, v, n))
    put("OBV", talib.OBV(c, v))


def statistics():
    for n in (3, 20):
        put(f"LinearRegression {n}", talib.LINEARREG(c, n))
        put(f"LinearRegression {n} slope", talib.LINEARREG_SLOPE(c, n))
        order, windows = np.arange(n) - (n - 1) / 2, sliding_window_view(c, n)
        apart, none = windows - windows.mean(axis=1, keepdims=True), np.full(n - 1, np.nan)
        flat = np.ptp(windows, axis=1) == 0
        squares = np.where(flat, 1, (apart**2).sum(axis=1))
        r2, score = (apart @ order) ** 2 / squares / (order**2).sum(), apart[:, -1] / np.sqrt(squares / n)
        put(f"LinearRegression {n} R2", np.concatenate([none, np.where(flat, 0, r2)]))
        put(f"Correlation {n}", talib.CORREL(c, o, n))
        put(f"Beta {n}", talib.BETA(o, c, n))
        put(f"ZScore {n}", np.concatenate([none, np.where(flat, 0, score)]))
        returns = np.log(close).diff()
        put(f"RealizedVolatility {n} 365", np.sqrt((returns**2).rolling(n).mean() * 365))
    for n, q in ((3, 0.5), (20, 0.9), (50, 0.25), (10, 0), (10, 1)):
        put(f"Quantile {n} {q}", close.rolling(n).quantile(q))


def patterns():
    names = {
        "doji": talib.CDLDOJI,
        "hammer": talib.CDLHAMMER,
        "hanging_man": talib.CDLHANGINGMAN,
        "shooting_star": talib.CDLSHOOTINGSTAR,
        "engulfing": talib.CDLENGULFING,
        "harami": talib.CDLHARAMI,
        "piercing": talib.CDLPIERCING,
        "dark_cloud_cover": talib.CDLDARKCLOUDCOVER,
        "morning_star": talib.CDLMORNINGSTAR,
        "evening_star": talib.CDLEVENINGSTAR,
    }
    for name, find in names.items():
        put(f"Pattern {name}", np.sign(find(o, h, l, c)), 12)


def smoothed():
    for name, values in zip(("open", "high", "low", "close"), talib.HA(o, h, l, c), strict=True):
        put(f"HeikinAshi {name}", values)


def pivots():
    """Of weeks, which are seven candles here."""
    week = candles.index // 7
    before = candles.groupby(week).agg({"high": "max", "low": "min", "close": "last"}).shift()
    h, l, c = (before[name].reindex(week).to_numpy() for name in ("high", "low", "close"))
    p = (h + l + c) / 3
    put("Pivots", p)
    for i, level in enumerate((2 * p - l, p + (h - l), h + 2 * (p - l)), 1):
        put(f"Pivots r{i}", level)
    for i, level in enumerate((2 * p - h, p - (h - l), l - 2 * (h - p)), 1):
        put(f"Pivots s{i}", level)


averages()
momentum()
trend()
volume()
statistics()
patterns()
smoothed()
pivots()
for name, values in lines.items():
    known = np.flatnonzero(~np.isnan(values))
    cells = [name, int(known[0]), repr(float(np.mean(values[known])))]
    print(*cells, *("" if np.isnan(x) else repr(float(x)) for x in values), sep=",")
