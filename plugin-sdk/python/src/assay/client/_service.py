"""Runs of a service, and the means to start one."""

from __future__ import annotations

import ipaddress
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from ._backend import Json
from ._errors import AssayError
from ._model import Reader, Run

URL = "http://127.0.0.1:8000"
MAX_BODY = 1 << 30
POLL_SECONDS = 0.2


def connect(url: str = URL, *, timeout: float = 30.0) -> Service:
    """Connects to a service and asks whether it answers.

    Args:
        url: where the service is, without /api/v1. Only this machine is spoken to in the clear;
            a service behind a proxy needs https.
        timeout: how many seconds an answer may take.

    Raises:
        AssayError: SERVICE_UNREACHABLE where nothing answers, URL_REFUSED for another address.
    """
    return Service(_Http(url, timeout))


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Http:
    """The back end of `connect`."""

    def __init__(self, url: str, timeout: float) -> None:
        at = urlsplit(url)
        if at.scheme not in ("http", "https") or not at.hostname or at.query or at.fragment:
            raise AssayError("URL_REFUSED", f"{url!r} is not like {URL}")
        if at.scheme == "http" and not _loopback(at.hostname):
            raise AssayError("URL_REFUSED", f"{at.hostname} is another machine: it needs https")
        self.place = url.rstrip("/")
        self._base = self.place + "/api/v1"
        self._timeout = timeout
        self._opener = build_opener(ProxyHandler({}), _NoRedirect())

    def call(
        self, path: str, body: Json | None = None, method: str = "", headers: Json | None = None
    ) -> bytes:
        """The body of an answer."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        ask = Request(self._base + path, data, dict(headers or {}), method=method or None)
        if data is not None:
            ask.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(ask, timeout=self._timeout) as answer:
                text: bytes = answer.read(MAX_BODY + 1)
        except HTTPError as e:
            raise _refusal(e.code, e.read(1 << 20)) from None
        except (URLError, OSError) as e:
            why = getattr(e, "reason", e)
            raise AssayError(
                "SERVICE_UNREACHABLE", f"{self.place} does not answer ({why}): is assay running?"
            ) from e
        if len(text) > MAX_BODY:
            raise AssayError("ANSWER_TOO_LARGE", f"{path} has more than {MAX_BODY} bytes")
        return text

    def get(self, path: str, **query: str) -> Json:
        text = self.call(path + ("?" + urlencode(query) if query else ""))
        try:
            value = json.loads(text)
        except ValueError as e:
            raise AssayError("ANSWER_UNREADABLE", f"{path} is no JSON: is this assay?") from e
        if not isinstance(value, dict):
            raise AssayError("ANSWER_UNREADABLE", f"{path} is no object: is this assay?")
        return value

    def _pages(self, path: str, **query: str) -> Iterator[Json]:
        while True:
            page = self.get(path, **query)
            yield from page["items"]
            if not page.get("next_cursor"):
                return
            query["cursor"] = page["next_cursor"]

    def runs(self, filters: Mapping[str, str]) -> list[Json]:
        return list(self._pages("/runs", limit="200", **filters))

    def run(self, run_id: str) -> Json:
        return self.get("/runs/" + quote(run_id, safe=""))

    def names(self, run_id: str) -> list[str]:
        return [f["name"] for f in self.get(f"/runs/{quote(run_id, safe='')}/files")["items"]]

    def file(self, run_id: str, name: str) -> bytes:
        return self.call(f"/runs/{quote(run_id, safe='')}/files/{quote(name, safe='')}")

    def sheet(self, run_id: str) -> str:
        return self.call(f"/runs/{quote(run_id, safe='')}/report.html").decode()

    def families(self) -> list[Json]:
        return list(self._pages("/families", limit="200"))

    def family(self, plan_id: str) -> tuple[Json, list[Json]]:
        path = "/families/" + quote(plan_id, safe="")
        return self.get(path), list(self._pages(path + "/trials", limit="1000"))

    def falsification(self, run_id: str) -> Json:
        return self.get("/falsifications/" + quote(run_id, safe=""))


def _refusal(status: int, text: bytes) -> AssayError:
    """The error of an answer, with what each wrong field needs."""
    try:
        e = json.loads(text)["error"]
        code, message, details = str(e["code"]), str(e["message"]), dict(e.get("details") or {})
    except (ValueError, KeyError, TypeError):
        return AssayError("ANSWER_UNREADABLE", f"the answer is {status} and no error of assay's")
    fields = [f for f in details.get("errors") or [] if isinstance(f, dict)]
    where = [f"{f.get('pointer', '')} {f.get('message', '')}".strip() for f in fields]
    return AssayError(code, "; ".join([message, *where]), details)


class Service(Reader):
    """A service: its runs as those of a `Reader`, and its runner, which has one run at a time."""

    _backend: _Http

    def __init__(self, backend: _Http) -> None:
        super().__init__(backend)
        self.version = str(backend.get("/meta").get("service_version", ""))

    def status(self) -> dict[str, Any]:
        """What the runner does now: GET /status."""
        return self._backend.get("/status")

    def start(
        self,
        strategy: str,
        *,
        symbols: Sequence[str],
        timeframe: str,
        start: str | None = None,
        end: str | None = None,
        cash: float = 10_000,
        params: Mapping[str, Any] | None = None,
        exchange: str | None = None,
        execution: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Run:
        """Starts a backtest and returns at once.

        It counts as a trial on its candles, as from everywhere.

        Args:
            strategy: a name of the service's strategies.
            symbols: such as ``["BTC/USDT"]``.
            timeframe: such as ``"1h"``.
            start: first moment of the window as RFC 3339 or a date, UTC; the first candle if None.
            end: end of the window, itself outside; after the last candle if None.
            cash: cash at the start, in the quote currency.
            params: parameters of the strategy; what is absent takes its default.
            exchange: an exchange of the service; it chooses one if None.
            execution: options of the fills.
            replace: take the place of the run that has ended, which otherwise needs `reset`.

        Raises:
            AssayError: with the code of the API, such as VALIDATION_FAILED or RUN_ALREADY_ACTIVE.
        """
        body: Json = {
            "strategy_name": strategy,
            "strategy_params": dict(params or {}),
            "symbols": list(symbols),
            "timeframe": timeframe,
            "start_date": start,
            "end_date": end,
            "initial_cash": cash,
            "execution": dict(execution or {}),
        }
        if exchange is not None:
            body["exchange"] = exchange
        before = self.status()["run_id"] if replace else ""
        headers = {"Replace-Run": before} if before else {}
        answer = json.loads(self._backend.call("/run/backtest", body, headers=headers))
        return self.run(answer["run_id"])

    def watch(self, *, progress: bool = True) -> Run:
        """Waits until the run has ended, with a line of progress on stderr, and returns it.

        An interrupt ends the waiting, not the run.

        Raises:
            AssayError: the code with which the run failed; RUN_NOT_ACTIVE if there is none.
        """
        while True:
            s = self.status()
            if not s["run_id"]:
                raise AssayError("RUN_NOT_ACTIVE", "there is no run to watch: start one")
            if progress:
                _draw(s)
            if s["status"] != "running":
                break
            time.sleep(POLL_SECONDS)
        if s["status"] == "failed":
            details = s.get("error_details") or {}
            raise AssayError(str(details.get("code", "RUN_FAILED")), str(s["error"]), details)
        return self.run(s["run_id"])

    def backtest(self, strategy: str, *, progress: bool = True, **request: Any) -> Run:
        """Starts a backtest, see `start`, and waits for its end, see `watch`."""
        self.start(strategy, **request)
        return self.watch(progress=progress)

    def stop(self) -> dict[str, Any]:
        """Stops the run. Its results so far are kept."""
        answer: dict[str, Any] = json.loads(self._backend.call("/run/stop", method="POST"))
        return answer

    def reset(self) -> dict[str, Any]:
        """Frees the runner of a run that has ended. Its files and its row stay."""
        answer: dict[str, Any] = json.loads(self._backend.call("/run/reset", method="DELETE"))
        return answer


def _draw(s: Json) -> None:
    share = 1.0 if s["status"] == "completed" else float(s.get("progress") or 0)
    line = f"{s['run_id']} {s['status']} {share:4.0%}, value {s['value']:.2f}"
    line += f", {s['trade_count']} trades"
    end = "" if s["status"] == "running" else "\n"
    sys.stderr.write(f"\r{line:<78}{end}")
    sys.stderr.flush()
