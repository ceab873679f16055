"""Streaming indicators: one ``add`` per candle, constant work, the same bits as the Go SDK's.

``value`` is NaN-free until ``ready``: 0. Feed two lines with the same candle before asking
whether they crossed. A value that is not finite, or beyond 1e140, makes the indicator NaN
until it has left the window, and for good in those that remember all their past, as EMA, RSI
and ATR do. Formulas and first values are documented in the Go package plugin-sdk/indicator.

Sums over a window are kept in double-double, so that an indicator that has seen a million
candles agrees with one that has seen only the last window.
"""

from ._average import DEMA, EMA, HMA, KAMA, MACD, SMA, TEMA, WMA
from ._band import Bollinger, Donchian, Highest, Keltner, Lowest, StdDev
from ._candle import HeikinAshi, Pattern, Pivots, Shape
from ._line import Bar, FullBar, Line, TimedBar, Track
from ._momentum import ATR, CCI, ROC, RSI, Stochastic, StochRSI, WilliamsR
from ._statistics import Beta, Correlation, LinearRegression, Quantile, RealizedVolatility, ZScore
from ._trend import ADX, Aroon, Ichimoku, ParabolicSAR, SuperTrend
from ._volume import CMF, MFI, OBV, VWAP, SessionVWAP

__all__ = [
    "ADX",
    "ATR",
    "Aroon",
    "Bar",
    "Beta",
    "Bollinger",
    "CCI",
    "CMF",
    "Correlation",
    "DEMA",
    "Donchian",
    "EMA",
    "FullBar",
    "HMA",
    "HeikinAshi",
    "Highest",
    "Ichimoku",
    "KAMA",
    "Keltner",
    "Line",
    "LinearRegression",
    "Lowest",
    "MACD",
    "MFI",
    "OBV",
    "ParabolicSAR",
    "Pattern",
    "Pivots",
    "Quantile",
    "ROC",
    "RSI",
    "RealizedVolatility",
    "SMA",
    "SessionVWAP",
    "Shape",
    "StdDev",
    "StochRSI",
    "Stochastic",
    "SuperTrend",
    "TEMA",
    "TimedBar",
    "Track",
    "VWAP",
    "WMA",
    "WilliamsR",
    "ZScore",
]
