"""How charts draw what a strategy publishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import strategy_pb2 as pb

__all__ = ["Plot", "PlotLevel"]


@dataclass(frozen=True)
class PlotLevel:
    """A horizontal line of a `Plot`: at the value of a numeric parameter, or at a number."""

    at: str | float  #: name of a parameter, or the value
    title: str = ""  #: for people


@dataclass(frozen=True)
class Plot:
    """How charts draw a series given to ``v.publish``. One without a plot is a line over the
    candles. `lab validate` and the host refuse a plot that cannot be drawn, by its field."""

    series: str  #: the name given to ``v.publish``
    title: str = ""  #: for people; the name if empty
    pane: str = ""  #: over the candles if empty, else one of this name below, with its own scale
    kind: str = "line"  #: line, histogram, band (between `series` and `upper`) or marker
    upper: str = ""  #: series of a band's upper edge
    levels: tuple[PlotLevel, ...] = ()  #: horizontal lines of the pane
    color: str = ""  #: up, down, accent, warn or muted; by the name if empty


def messages(plots: tuple[Plot, ...]) -> list[Any]:
    """The plots of a strategy for the host."""
    return [
        pb.Plot(
            series=p.series,
            title=p.title,
            pane=p.pane,
            kind=p.kind,
            upper=p.upper,
            levels=[
                pb.PlotLevel(param=x.at, title=x.title)
                if isinstance(x.at, str)
                else pb.PlotLevel(value=x.at, title=x.title)
                for x in p.levels
            ],
            color=p.color,
        )
        for p in plots
    ]
