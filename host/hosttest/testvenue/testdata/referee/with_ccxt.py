"""ccxt trades on the test venue: REST, then the streams."""

import asyncio
from decimal import Decimal

import ccxt
import ccxt.pro

from referee import KEY, NASTY, SECRET, URL, WORTH, WS, equal, refused, report, script, true


def at_venue(kind):
    """A client whose every address is the venue's; only spot markets exist there."""
    e = kind({"apiKey": KEY, "secret": SECRET, "enableRateLimit": False, "options": {
        "fetchMarkets": {"types": ["spot"]}, "defaultType": "spot", "warnOnFetchOpenOrdersWithoutSymbol": False}})
    api = e.urls["api"]
    api["public"] = api["private"] = URL + "/api/v3"
    api["sapi"] = URL + "/sapi/v1"
    if "ws" in api:
        api["ws"] = {"spot": WS + "/ws", "ws-api": {"spot": WS + "/ws-api/v3"}}
    return e


def markets(e):
    e.load_markets()
    equal("markets", len(e.markets), 15)
    for name, tick, step in [("PEPE/USDT", "0.00000001", "1"), ("SHIB/USDT", "0.00000001", "100"),
                             ("BTC/IDRT", "1", "0.00001"), ("ETH/BTC", "0.00001", "0.0001")]:
        equal(name + " tick", e.markets[name]["precision"]["price"], tick)
        equal(name + " step", e.markets[name]["precision"]["amount"], step)
    book = e.fetch_order_book("BTC/USDT", 20)
    true("the book", len(book["bids"]) == len(book["asks"]) == 20 and book["bids"][0][0] < book["asks"][0][0], book)
    ticker = e.fetch_ticker("BTC/USDT")
    true("the ticker", ticker["low"] <= ticker["last"] <= ticker["high"], ticker)
    true("all tickers", len(e.fetch_tickers()) == 15 and len(e.fetch_bids_asks()) == 15)
    candles = e.fetch_ohlcv("BTC/USDT", "5m", limit=50)
    true("candles", len(candles) == 50 and all(b[0] - a[0] == 300_000 for a, b in zip(candles, candles[1:])), candles)
    true("trades", len(e.fetch_trades("BTC/USDT", limit=20)) == 20)


def settled(e, o):
    """The order as it ended, its trades summed up."""
    o = e.fetch_order(o["id"], o["symbol"])
    trades = [t for t in e.fetch_my_trades(o["symbol"]) if t["order"] == o["id"]]
    equal("amount of " + o["id"], sum((Decimal(t["info"]["qty"]) for t in trades), Decimal(0)), o["info"]["executedQty"])
    equal("cost of " + o["id"], sum((Decimal(t["info"]["quoteQty"]) for t in trades), Decimal(0)), o["info"]["cummulativeQuoteQty"])
    return o


def orders(e):
    pair = "BTC/USDT"
    bought = e.create_order(pair, "market", "buy", 0.2)
    true("levels", bought["status"] == "closed" and len(bought["trades"]) >= 3, bought)
    settled(e, bought)
    settled(e, e.create_market_buy_order_with_cost(pair, 321.5))
    last = e.fetch_ticker(pair)["last"]
    rests = e.create_order(pair, "limit", "buy", 0.01, last * 0.9)
    true("a resting order", rests["status"] == "open" and rests["filled"] == 0, rests)
    moved = e.edit_order(rests["id"], pair, "limit", "buy", 0.02, last * 0.8)
    equal("amount of the edited order", moved["amount"], 0.02)
    true("the edited one", e.fetch_order(rests["id"], pair)["status"] == "canceled")
    true("open orders", [o["id"] for o in e.fetch_open_orders(pair)] == [moved["id"]])
    equal("canceled", e.cancel_order(moved["id"], pair)["filled"], 0)
    script("liquidity", "BTCUSDT", "0.1")
    ask = e.fetch_order_book(pair)["asks"][0][0]
    part = e.create_order(pair, "limit", "buy", 0.9, ask * 1.0005, {"timeInForce": "IOC"})
    true("a part, then expired", part["status"] == "expired" and 0 < part["filled"] < 0.9, part)
    settled(e, part)
    none = e.create_order(pair, "limit", "buy", 0.9, ask * 1.0005, {"timeInForce": "FOK"})
    true("all or nothing", none["status"] == "expired" and none["filled"] == 0, none)
    script("liquidity", "BTCUSDT", "1")
    refused("a maker that takes", ccxt.OrderImmediatelyFillable,
            lambda: e.create_order(pair, "limit", "buy", 0.01, last * 1.05, {"postOnly": True}))
    refused("too much", ccxt.InsufficientFunds, lambda: e.create_order(pair, "limit", "buy", 50, last))
    refused("an unknown parameter", ccxt.BadRequest, lambda: e.create_order(pair, "market", "buy", 0.01, None, {"reduceOnlyy": "x"}))
    refused("no such order", ccxt.OrderNotFound, lambda: e.fetch_order("999999", pair))
    stop = e.create_order(pair, "market", "sell", 0.01, None, {"stopLossPrice": last * 0.95})
    gain = e.create_order(pair, "limit", "sell", 0.01, last * 1.05, {"takeProfitPrice": last * 1.04})
    true("both wait", {stop["id"], gain["id"]} == {o["id"] for o in e.fetch_open_orders(pair)})
    script("price", "BTCUSDT", str(round(last * 0.94, 2)))
    for _ in range(100):
        if e.fetch_order(stop["id"], pair)["status"] == "closed":
            break
        e.sleep(50)
    equal("the stop", settled(e, stop)["filled"], 0.01)
    e.cancel_all_orders(pair)
    true("nothing is open", e.fetch_open_orders(pair) == [])


def oco(e):
    """ccxt has no unified name for a pair; its raw call signs and sends all the same."""
    last = e.fetch_ticker("BTC/USDT")["last"]
    listed = e.private_post_orderlist_oco({
        "symbol": "BTCUSDT", "side": "SELL", "quantity": "0.01", "aboveType": "LIMIT_MAKER", "abovePrice": e.price_to_precision("BTC/USDT", last * 1.1),
        "belowType": "STOP_LOSS", "belowStopPrice": e.price_to_precision("BTC/USDT", last * 0.9)})
    true("two legs", len({o["clientOrderId"] for o in listed["orderReports"]}) == 2, listed)
    e.cancel_order(listed["orderReports"][0]["orderId"], "BTC/USDT")
    equal("legs that are open", len(e.fetch_open_orders("BTC/USDT")), 0)


def nasty(e):
    """Buys by amount of money and sells by quantity on every grid; no unit may be lost on the way."""
    for asset, amount in [("BNB", "50"), ("BTC", "2"), ("IDRT", "900000000")]:
        script("balance", asset, amount)
    for name in NASTY:
        m = e.markets_by_id[name][0]
        pair, base, quote = m["symbol"], m["base"], m["quote"]
        before = e.fetch_balance()
        had = {c: Decimal(str(before.get(c, {}).get("total") or 0)) for c in (base, quote)}
        bought = settled(e, e.create_market_buy_order_with_cost(pair, float(WORTH[quote])))
        sold = settled(e, e.create_order(pair, "market", "sell", float(e.amount_to_precision(pair, float(bought["filled"]) * 0.6))))
        for t in e.fetch_my_trades(pair):
            way = 1 if t["side"] == "buy" else -1
            had[base] += way * Decimal(t["info"]["qty"])
            had[quote] -= way * Decimal(t["info"]["quoteQty"])
            had[t["info"]["commissionAsset"]] -= Decimal(t["info"]["commission"])
        after = {b["asset"]: Decimal(b["free"]) + Decimal(b["locked"]) for b in e.fetch_balance()["info"]["balances"]}
        equal(pair + " base", after.get(base, 0), had[base])
        equal(pair + " quote", after.get(quote, 0), had[quote])
        true(pair + " sold", Decimal(sold["info"]["executedQty"]) > 0)


async def streams():
    e = at_venue(ccxt.pro.binance)
    try:
        await e.load_markets()
        first = await e.watch_ohlcv("BTC/USDT", "1m")
        forms = {tuple(first[-1])}
        for _ in range(5):
            forms.add(tuple((await e.watch_ohlcv("BTC/USDT", "1m"))[-1]))
        true("a forming candle changes", len(forms) > 2, forms)
        for _ in range(10):
            book = await e.watch_order_book("BTC/USDT", 20)
            true("the kept book", book["bids"][0][0] < book["asks"][0][0], book)
        true("trades", len(await e.watch_trades("BTC/USDT")) > 0)
        true("the ticker", (await e.watch_ticker("BTC/USDT"))["last"] > 0)
        heard = [asyncio.ensure_future(w) for w in (e.watch_orders(), e.watch_my_trades(), e.watch_balance())]
        await asyncio.sleep(1)
        o = await e.create_order_ws("BTC/USDT", "market", "buy", 0.01)
        true("placed by WebSocket", o["status"] == "closed" and o["filled"] == 0.01, o)
        orders, trades, balance = await asyncio.wait_for(asyncio.gather(*heard), 20)
        true("the order", orders[-1]["id"] == o["id"], orders)
        equal("the trade", trades[-1]["amount"], 0.01)
        true("the balance", balance["BTC"]["total"] > 0, balance["BTC"])
    finally:
        await e.close()


def totals(e):
    """What this client has read of the account at the end, for the venue to compare."""
    orders, traded = 0, {}
    for pair, m in e.markets.items():
        orders += len(e.fetch_orders(pair))
        for t in e.fetch_my_trades(pair):
            traded[m["id"]] = traded.get(m["id"], Decimal(0)) + Decimal(t["info"]["qty"])
    report(orders=orders, traded={name: str(amount) for name, amount in traded.items()})


def main():
    e = at_venue(ccxt.binance)
    markets(e)
    orders(e)
    oco(e)
    nasty(e)
    asyncio.run(streams())
    totals(e)


main()
