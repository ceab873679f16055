"""What the referees share: the address of the venue, and exact checks that are counted."""

import json
import sys
import urllib.request
from decimal import Decimal

URL, SCRIPTS, KEY, SECRET = sys.argv[1:5]
WS = "ws" + URL.removeprefix("http")
PLAIN = ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
NASTY = ["PEPEUSDT", "SHIBUSDT", "BTTCUSDT", "1000SATSUSDT", "DOGEUSDT", "USDCUSDT", "BNBUSDT",
         "CAKEBNB", "VETBNB", "ETHBTC", "BTCIDRT", "PAXGUSDT"]
WORTH = {"USDT": "200", "BNB": "0.5", "BTC": "0.01", "IDRT": "3000000"}
CHECKS = 0


def equal(what, got, want):
    """Two numbers that are the same to the last digit."""
    global CHECKS
    CHECKS += 1
    if Decimal(str(got)) != Decimal(str(want)):
        sys.exit(f"{what}: {got}, want {want}")


def agree(what, one, other):
    """Two reads of one thing, while the market moves: they agree before long."""
    global CHECKS
    CHECKS += 1
    seen = []
    for _ in range(20):
        seen = [Decimal(str(one())), Decimal(str(other()))]
        if seen[0] == seen[1]:
            return
    sys.exit(f"{what}: {seen}")


def true(what, holds, seen=""):
    global CHECKS
    CHECKS += 1
    if not holds:
        sys.exit(f"{what}: {seen}")


def refused(what, kind, call):
    """A call that must fail with one kind of error, by the client's own reading of the answer."""
    global CHECKS
    CHECKS += 1
    try:
        out = call()
    except kind as e:
        return e
    sys.exit(f"{what} was not refused: {out}")


def script(action, *args):
    """Plays a script of the venue."""
    body = json.dumps({"action": action, "args": list(args)}).encode()
    request = urllib.request.Request(SCRIPTS, body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()


def report(**more):
    print(json.dumps({"checks": CHECKS, **more}))
