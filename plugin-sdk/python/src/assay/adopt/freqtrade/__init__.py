"""Runs a strategy for freqtrade as it is, in lockstep.

The package stands for the modules ``freqtrade.strategy``, ``freqtrade.persistence`` and
``freqtrade.vendor.qtpylib.indicators`` that its file imports, and for ``technical.qtpylib`` where
that is not installed. ``lab adopt freqtrade`` writes the few lines::

    from assay.adopt.freqtrade import adopt

    Sample = adopt("original.py", "Sample", name="sample")

The strategy's ``populate_`` methods are called again at each candle on the candles so far, so what
looks ahead finds nothing there. Stop and ROI are orders that are live from the entry on.
"""

from __future__ import annotations

from .. import Unsupported
from ._drive import adopt

__all__ = ["Unsupported", "adopt"]
