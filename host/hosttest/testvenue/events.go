package testvenue

import (
	"maps"
	"slices"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// report is an executionReport.
func (v *Venue) report(o *order, what string, t *trade) {
	now := int64(v.now())
	o.symbol.book.update++
	e := frame{
		"e": "executionReport", "E": now, "s": o.symbol.name, "c": o.client, "S": o.side, "o": o.kind, "f": o.tif,
		"q": fixed(o.qty),
		"p": fixed(o.price), "P": fixed(o.stop), "F": fixed(o.iceberg), "g": o.list, "C": "", "x": what,
		"X": o.status, "r": "NONE", "i": o.id,
		"l": "0.00000000", "z": fixed(o.cum), "L": "0.00000000", "n": "0", "N": nil, "T": now, "t": -1,
		"w": o.open() && !o.waits(), "m": false,
		"O": int64(o.created), "Z": fixed(o.cumQuote), "Y": "0.00000000", "Q": fixed(o.quoteQty), "V": o.prevention,
		"I": v.nextExecution(), "M": false,
	}
	if o.working {
		e["W"] = int64(o.worked)
	}
	switch what {
	case statusCanceled:
		e["c"], e["C"] = "x-cancel", o.client
	case statusPrevented:
		e["x"] = "TRADE_PREVENTION"
	}
	if t != nil {
		e["l"], e["L"], e["n"], e["N"] = fixed(t.qty), fixed(t.price), fixed(t.fee), t.feeAsset
		e["t"], e["m"], e["T"] = t.id, t.maker, int64(t.time)
		e["Y"], e["M"] = fixed(t.worth), true
	}
	v.pushUser(e)
	if v.trouble.chatty {
		v.publishBalances()
	}
}

func (v *Venue) nextExecution() int64 {
	v.executions++
	return v.executions
}

// reportList is a listStatus: of a pair that is placed, and of one that has ended.
func (v *Venue) reportList(o *order) {
	list := o.listJSON()
	refs := []map[string]any{}
	for _, leg := range o.legs() {
		refs = append(refs, map[string]any{"s": leg.symbol.name, "i": leg.id, "c": leg.client})
	}
	v.pushUser(frame{"e": "listStatus", "E": int64(v.now()), "s": o.symbol.name, "g": o.list, "c": "OCO",
		"l": list["listStatusType"], "L": list["listOrderStatus"],
		"r": "NONE", "C": o.listName, "T": int64(v.now()), "O": refs})
}

// publishBalances tells of the assets that have changed.
func (v *Venue) publishBalances() {
	a := &v.account
	list := []map[string]string{}
	for _, asset := range slices.Sorted(maps.Keys(a.balances)) {
		now := [2]string{fixed(v.free(asset)), fixed(v.locked(asset))}
		if a.told[asset] == now {
			continue
		}
		a.told[asset] = now
		list = append(list, map[string]string{"a": asset, "f": now[0], "l": now[1]})
	}
	if len(list) > 0 {
		v.pushUser(frame{"e": "outboundAccountPosition", "E": int64(v.now()), "u": int64(v.now()), "B": list})
	}
}

// channels are what the connections hear of each symbol, by its name in small letters.
func (v *Venue) channels() map[string][]string {
	all := map[string]bool{}
	for c := range v.clients {
		maps.Copy(all, c.streams)
	}
	list := map[string][]string{}
	for _, stream := range slices.Sorted(maps.Keys(all)) {
		if name, channel, ok := strings.Cut(stream, "@"); ok {
			list[name] = append(list[name], channel)
		}
	}
	return list
}

// tell sends an event of a stream to who listens.
func (v *Venue) tell(stream string, event map[string]any) {
	for c := range v.clients {
		switch {
		case !c.streams[stream]:
		case c.combined:
			c.send(map[string]any{"stream": stream, "data": event})
		default:
			c.send(event)
		}
	}
}

// publishClosed tells of the candles that have closed.
func (v *Venue) publishClosed() {
	t := &v.trouble
	wanted := v.channels()
	for _, s := range v.symbols {
		for _, channel := range wanted[strings.ToLower(s.name)] {
			name, is := strings.CutPrefix(channel, "kline_")
			length := v.spans[name]
			if next := s.tape.next(); is && length > 0 && next%length == 0 {
				v.closeCandle(s, name, s.tape.whole(next-length, length), t)
			}
		}
	}
	t.drop, t.double, t.late, t.corrected = false, false, false, false
}

func (v *Venue) closeCandle(s *symbol, name string, c market.Candle, t *trouble) {
	length := c.CloseTime - c.OpenTime
	switch {
	case t.drop:
		return
	case t.corrected:
		wrong := c
		wrong.Close = wrong.Open
		v.pushCandle(s, name, wrong, true)
	case t.late && c.OpenTime-length >= s.tape.start:
		defer v.pushCandle(s, name, s.tape.whole(c.OpenTime-length, length), true)
	}
	v.pushCandle(s, name, c, true)
	if t.double {
		v.pushCandle(s, name, c, true)
	}
}

func (v *Venue) pushCandle(s *symbol, name string, c market.Candle, closed bool) {
	v.tell(strings.ToLower(s.name)+"@kline_"+name,
		map[string]any{"e": "kline", "E": int64(v.now()), "s": s.name, "k": map[string]any{
			"t": int64(c.OpenTime), "T": int64(c.CloseTime) - 1, "s": s.name, "i": name, "f": 1, "L": 1,
			"o": text(c.Open), "c": text(c.Close),
			"h": text(c.High), "l": text(c.Low), "v": text(c.Volume), "n": 1, "x": closed,
			"q": text(c.Volume * c.Close), "V": text(c.Volume / 2),
			"Q": text(c.Volume * c.Close / 2), "B": "0",
		}})
}

// publishMarket tells of the candles that form, of trades and of the book.
func (v *Venue) publishMarket() {
	wanted := v.channels()
	for _, s := range v.symbols {
		differs := false
		for _, channel := range wanted[strings.ToLower(s.name)] {
			stream := strings.ToLower(s.name) + "@" + channel
			kind, _, _ := strings.Cut(channel, "@")
			if name, is := strings.CutPrefix(kind, "kline_"); is {
				if length := v.spans[name]; length > 0 {
					v.pushCandle(s, name, s.tape.whole(s.tape.next()-s.tape.next()%length, length), false)
				}
				continue
			}
			if kind == "depth" {
				differs = true
				continue
			}
			for _, event := range v.event(s, kind) {
				v.tell(stream, event)
			}
		}
		if differs {
			v.publishBook(s)
		}
		s.told = s.newest().id
	}
}

// publishBook tells how the book differs from what was told of it, before a snapshot too: so a difference
// always begins where some snapshot ends.
func (v *Venue) publishBook(s *symbol) {
	if s.book.told == s.book.update {
		return
	}
	event := s.difference(int64(v.now()))
	for _, speed := range []string{"", "@100ms", "@1000ms"} {
		v.tell(strings.ToLower(s.name)+"@depth"+speed, event)
	}
}

// event is what a stream says now; nothing where there is no such stream.
func (v *Venue) event(s *symbol, kind string) []map[string]any {
	now := int64(v.now())
	switch kind {
	case "trade", "aggTrade":
		var list []map[string]any
		for _, p := range s.prints {
			if p.id <= s.told {
				continue
			}
			e := map[string]any{"e": kind, "E": now, "s": s.name, "p": fixed(s.tape.decimal(p.price)),
				"q": fixed(s.size(p)), "T": int64(p.time), "m": p.falls, "M": true}
			if kind == "trade" {
				e["t"] = p.id
			} else {
				e["a"], e["f"], e["l"] = p.id, p.id, p.id
			}
			list = append(list, e)
		}
		return list
	case "bookTicker":
		bid, ask := s.best()
		return []map[string]any{{"u": s.book.update, "s": s.name, "b": fixed(bid.price), "B": fixed(bid.qty),
			"a": fixed(ask.price), "A": fixed(ask.qty)}}
	case "depth5", "depth10", "depth20":
		return []map[string]any{s.snapshot(map[string]int{"depth5": 5, "depth10": 10, "depth20": 20}[kind])}
	case "avgPrice":
		return []map[string]any{{"e": "avgPrice", "E": now, "s": s.name, "i": "5m", "w": fixed(s.average()),
			"T": int64(s.tape.at())}}
	case "ticker", "miniTicker":
		w := s.window(24 * 60)
		e := map[string]any{"e": "24hr" + map[string]string{"ticker": "Ticker", "miniTicker": "MiniTicker"}[kind],
			"E": now, "s": s.name, "c": w["lastPrice"],
			"o": w["openPrice"], "h": w["highPrice"], "l": w["lowPrice"], "v": w["volume"], "q": w["quoteVolume"]}
		if kind == "ticker" {
			bid, ask := s.best()
			for short, value := range map[string]any{
				"p": w["priceChange"], "P": w["priceChangePercent"], "w": w["weightedAvgPrice"], "x": w["openPrice"],
				"Q": fixed(s.size(s.newest())),
				"b": fixed(bid.price), "B": fixed(bid.qty), "a": fixed(ask.price), "A": fixed(ask.qty),
				"O": w["openTime"], "C": w["closeTime"],
				"F": w["firstId"], "L": w["lastId"], "n": w["count"],
			} {
				e[short] = value
			}
		}
		return []map[string]any{e}
	}
	return nil
}

// difference is what the book has changed since it was told last.
func (s *symbol) difference(now int64) map[string]any {
	b := &s.book
	bids, asks := s.offers(depthLevels + maxOrders)
	e := map[string]any{"e": "depthUpdate", "E": now, "s": s.name, "U": b.told + 1, "u": b.update}
	for i, side := range [2][][2]string{rows(bids), rows(asks)} {
		seen := map[string]string{}
		changed := [][2]string{}
		for _, row := range side {
			if seen[row[0]] = row[1]; b.shown[i][row[0]] != row[1] {
				changed = append(changed, row)
			}
		}
		for _, price := range slices.Sorted(maps.Keys(b.shown[i])) {
			if seen[price] == "" {
				changed = append(changed, [2]string{price, "0.00000000"})
			}
		}
		b.shown[i] = seen
		e[[2]string{"b", "a"}[i]] = changed
	}
	b.told = b.update
	return e
}
