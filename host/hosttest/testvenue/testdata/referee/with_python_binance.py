"""python-binance trades on the test venue: REST, then the streams."""

import asyncio
from decimal import Decimal

from binance import AsyncClient, BinanceSocketManager
from binance.client import Client
from binance.exceptions import BinanceAPIException

from referee import KEY, NASTY, PLAIN, SECRET, URL, WORTH, WS, agree, equal, refused, report, script, true


def markets(c):
    info = c.get_exchange_info()
    equal("symbols", len(info["symbols"]), 15)
    true("limits of orders", {r["rateLimitType"] for r in info["rateLimits"]} == {"REQUEST_WEIGHT", "ORDERS"}, info["rateLimits"])
    for name in PLAIN + NASTY:
        rules = {f["filterType"]: f for f in c.get_symbol_info(name)["filters"]}
        tick, step = Decimal(rules["PRICE_FILTER"]["tickSize"]), Decimal(rules["LOT_SIZE"]["stepSize"])
        book = c.get_order_book(symbol=name, limit=10)
        for price, amount in book["bids"] + book["asks"]:
            equal(name + " price on the tick", Decimal(price) % tick, 0)
            equal(name + " amount on the step", Decimal(amount) % step, 0)
        agree(name + " best bid", lambda: c.get_orderbook_ticker(symbol=name)["bidPrice"],
              lambda: c.get_order_book(symbol=name, limit=1)["bids"][0][0])
    rows = list(c.get_historical_klines("BTCUSDT", "1h", "20 hours ago UTC"))
    true("hours", len(rows) >= 19 and all(b[0] - a[0] == 3_600_000 for a, b in zip(rows, rows[1:])), rows)
    agree("the newest trade", lambda: c.get_recent_trades(symbol="BTCUSDT", limit=1)[0]["price"],
          lambda: c.get_symbol_ticker(symbol="BTCUSDT")["price"])
    true("an average", Decimal(c.get_avg_price(symbol="BTCUSDT")["price"]) > 0)
    true("a day", c.get_ticker(symbol="BTCUSDT")["count"] > 0)


def code(want, what, call):
    equal(what, refused(what, BinanceAPIException, call).code, want)


def orders(c):
    name = "ETHUSDT"
    bought = c.order_market_buy(symbol=name, quantity="3")
    true("levels", bought["status"] == "FILLED" and len(bought["fills"]) >= 3, bought)
    equal("the fills", sum(Decimal(f["qty"]) for f in bought["fills"]), 3)
    equal("the cost", sum(Decimal(f["qty"]) * Decimal(f["price"]) for f in bought["fills"]), bought["cummulativeQuoteQty"])
    last = Decimal(c.get_symbol_ticker(symbol=name)["price"])
    low, high = str((last * Decimal("0.9")).quantize(Decimal("0.01"))), str((last * Decimal("1.1")).quantize(Decimal("0.01")))
    rests = c.order_limit_buy(symbol=name, quantity="0.1", price=low)
    equal("open orders", len(c.get_open_orders(symbol=name)), 1)
    equal("filled of it", c.get_order(symbol=name, orderId=rests["orderId"])["executedQty"], 0)
    true("canceled", c.cancel_order(symbol=name, orderId=rests["orderId"])["status"] == "CANCELED")
    pair = c.create_oco_order(symbol=name, side="SELL", quantity="1", aboveType="LIMIT_MAKER", abovePrice=high, belowType="STOP_LOSS", belowStopPrice=low)
    equal("legs", len(c.v3_get_order_list(orderListId=pair["orderListId"])["orders"]), 2)
    equal("lists that are open", len(c.get_open_oco_orders()), 1)
    gone = c.v3_delete_order_list(symbol=name, orderListId=pair["orderListId"])
    true("the list is done", gone["listOrderStatus"] == "ALL_DONE", gone)
    stop = c.create_order(symbol=name, side="SELL", type="STOP_LOSS", quantity="1", stopPrice=low)
    script("price", name, str(Decimal(low) - 1))
    script("move")
    met = c.get_order(symbol=name, orderId=stop["orderId"])
    true("the stop", met["status"] == "FILLED" and Decimal(met["cummulativeQuoteQty"]) <= Decimal(low), met)
    code(-1106, "a price", lambda: c.create_order(symbol=name, side="BUY", type="MARKET", quantity="1", price=low))
    code(-1104, "a misspelt name", lambda: c.create_order(symbol=name, side="BUY", type="MARKET", quantity="1", stopPrise=low))
    code(-1013, "off the tick", lambda: c.order_limit_buy(symbol=name, quantity="0.1", price=low + "1"))
    code(-2010, "a maker that takes", lambda: c.create_order(symbol=name, side="BUY", type="LIMIT_MAKER", quantity="0.1", price=high))
    code(-2011, "canceled again", lambda: c.cancel_order(symbol=name, orderId=rests["orderId"]))
    equal("a test", len(c.create_test_order(symbol=name, side="BUY", type="MARKET", quantity="1")), 0)


def nasty(c):
    for asset, amount in [("BNB", "50"), ("BTC", "2"), ("IDRT", "900000000")]:
        script("balance", asset, amount)
    for name in NASTY:
        s = c.get_symbol_info(name)
        held = lambda asset: Decimal((c.get_asset_balance(asset) or {"free": 0})["free"])
        before = held(s["baseAsset"]), held(s["quoteAsset"])
        o = c.order_market_buy(symbol=name, quoteOrderQty=WORTH[s["quoteAsset"]])
        fee = sum(Decimal(f["commission"]) for f in o["fills"])
        equal(name + " got", held(s["baseAsset"]), before[0] + Decimal(o["executedQty"]) - fee)
        equal(name + " paid", held(s["quoteAsset"]), before[1] - Decimal(o["cummulativeQuoteQty"]))


async def streams():
    c = AsyncClient(KEY, SECRET)
    c.API_URL = URL + "/api"
    manager = BinanceSocketManager(c)
    manager.STREAM_URL = WS + "/"
    try:
        async with manager.kline_socket("BTCUSDT", interval="1m") as s:
            forms, closed = set(), 0
            while closed < 2:  # of the first one it may see nothing but the close
                k = (await asyncio.wait_for(s.recv(), 20))["k"]
                if closed == 1:
                    forms.add((k["c"], k["v"]))
                closed += k["x"]
        true("a candle formed and closed", len(forms) > 1, forms)
        async with manager.depth_socket("BTCUSDT", depth="5") as s:
            book = await asyncio.wait_for(s.recv(), 20)
        true("five levels", len(book["bids"]) == len(book["asks"]) == 5, book)
        async with manager.trade_socket("BTCUSDT") as s:
            t = await asyncio.wait_for(s.recv(), 20)
        true("a trade", t["e"] == "trade" and Decimal(t["p"]) > 0, t)
    finally:
        await c.close_connection()


def totals(c):
    orders, traded = 0, {}
    for name in PLAIN + NASTY:
        orders += len(c.get_all_orders(symbol=name))
        for t in c.get_my_trades(symbol=name):
            traded[name] = traded.get(name, Decimal(0)) + Decimal(t["qty"])
    report(orders=orders, traded={name: str(amount) for name, amount in traded.items()})


def main():
    Client.API_URL = URL + "/api"
    c = Client(KEY, SECRET, ping=False)
    c.API_URL = URL + "/api"
    markets(c)
    orders(c)
    nasty(c)
    asyncio.run(streams())
    totals(c)


main()
