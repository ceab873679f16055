package testvenue_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// rawClient speaks to a venue without any library: what is sent is what the test says.
type rawClient struct {
	*testing.T
	*testvenue.Venue
}

// object is an answer.
type object = map[string]any

func openClient(t *testing.T, o testvenue.Options) rawClient {
	t.Helper()
	if o.History == 0 {
		o.History = 60
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	if o.Start.IsZero() {
		o.Start = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return rawClient{t, start(t, o)}
}

// call makes a signed request, of "METHOD path?name=value&...".
func (d rawClient) call(request string) (int, http.Header, any) {
	d.Helper()
	method, path, _ := strings.Cut(request, " ")
	path, query, _ := strings.Cut(path, "?")
	query += "&timestamp=" + strconv.FormatInt(time.Now().UnixMilli(), 10)
	query = strings.TrimPrefix(query, "&")
	mac := hmac.New(sha256.New, []byte(testvenue.DefaultSecret))
	mac.Write([]byte(query))
	return d.send(method, path+"?"+query+"&signature="+hex.EncodeToString(mac.Sum(nil)))
}

func (d rawClient) send(method, path string) (int, http.Header, any) {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Context(), method, d.URL()+"/api/v3/"+path, nil)
	if err != nil {
		d.Fatal(err)
	}
	req.Header.Set("X-MBX-APIKEY", testvenue.DefaultKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		d.Fatalf("%s: %s is no JSON", path, text)
	}
	return resp.StatusCode, resp.Header, out
}

// done makes a request that must succeed.
func (d rawClient) done(request string) object {
	d.Helper()
	status, _, out := d.call(request)
	if status != 200 {
		d.Fatalf("%s: %d %v", request, status, out)
	}
	o, _ := out.(object)
	return o
}

// many is done of a list.
func (d rawClient) many(request string) []object {
	d.Helper()
	status, _, out := d.call(request)
	rows, is := out.([]any)
	if status != 200 || !is {
		d.Fatalf("%s: %d %v", request, status, out)
	}
	var list []object
	for _, r := range rows {
		o, _ := r.(object)
		list = append(list, o)
	}
	return list
}

// refused makes a request that must be refused.
func (d rawClient) refused(request string, code float64, text string) {
	d.Helper()
	_, _, out := d.call(request)
	o, _ := out.(object)
	if said, _ := o["msg"].(string); o["code"] != code || !strings.Contains(said, text) {
		d.Errorf("%s: %v, want %v %s", request, out, code, text)
	}
}

// public returns a request without key.
func (d rawClient) public(path string) any {
	d.Helper()
	var out any
	if err := json.Unmarshal([]byte(get(d.T, d.URL()+"/api/v3/"+path)), &out); err != nil {
		d.Fatal(err)
	}
	return out
}

// do plays a script.
func (d rawClient) do(action string, args ...string) {
	d.Helper()
	if err := d.Do(testvenue.Script{Action: action, Args: args}); err != nil {
		d.Fatal(err)
	}
}

func number(t testing.TB, value any) float64 {
	t.Helper()
	text, _ := value.(string)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%v is no number: %v", value, err)
	}
	return f
}

// best are the best bid and ask of a symbol.
func (d rawClient) best(symbol string) (bid, ask float64) {
	d.Helper()
	o, _ := d.public("ticker/bookTicker?symbol=" + symbol).(object)
	return number(d, o["bidPrice"]), number(d, o["askPrice"])
}

func price(f float64, digits int) string { return strconv.FormatFloat(f, 'f', digits, 64) }

// wire is a connection to the streams or to the WebSocket API.
type wire struct {
	rawClient
	ws *websocket.Conn
}

func (d rawClient) dial(path string) wire {
	d.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(d.Context(),
		"ws"+strings.TrimPrefix(d.URL(), "http")+path, nil)
	if err != nil {
		d.Fatal(err)
	}
	_ = resp.Body.Close()
	d.Cleanup(func() { _ = ws.Close() })
	for end := time.Now().Add(5 * time.Second); !strings.HasPrefix(path, "/ws-api") &&
		d.Listeners(false) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			d.Fatal("the venue has not taken the connection")
		}
	}
	return wire{d, ws}
}

// next returns the next message.
func (w wire) next() object {
	w.Helper()
	_ = w.ws.SetReadDeadline(time.Now().Add(10 * time.Second))
	var o object
	if err := w.ws.ReadJSON(&o); err != nil {
		w.Fatal(err)
	}
	return o
}

// ask calls a method of the WebSocket API, signed.
func (w wire) ask(method string, params object) object {
	w.Helper()
	values := url.Values{}
	for name, value := range params {
		text, _ := value.(string)
		values.Set(name, text)
	}
	values.Set("apiKey", testvenue.DefaultKey)
	values.Set("timestamp", strconv.FormatInt(time.Now().UnixMilli(), 10))
	mac := hmac.New(sha256.New, []byte(testvenue.DefaultSecret))
	mac.Write([]byte(values.Encode()))
	sent := object{"signature": hex.EncodeToString(mac.Sum(nil))}
	for name := range values {
		sent[name] = values.Get(name)
	}
	if err := w.ws.WriteJSON(object{"id": method, "method": method, "params": sent}); err != nil {
		w.Fatal(err)
	}
	for {
		if o := w.next(); o["id"] == method {
			return o
		}
	}
}

// events are those of the account until something else is asked: as many as are wanted.
func (w wire) events(n int) []object {
	w.Helper()
	var list []object
	for range n {
		e, _ := w.next()["event"].(object)
		list = append(list, e)
	}
	return list
}

func (d rawClient) account() wire {
	d.Helper()
	w := d.dial("/ws-api/v3")
	if o := w.ask("userDataStream.subscribe.signature", object{}); o["status"] != 200.0 {
		d.Fatalf("%v", o)
	}
	return w
}

// say returns a short form of an event: what, order, status.
func say(events []object) string {
	var words []string
	for _, e := range events {
		switch e["e"] {
		case "executionReport":
			word := e["x"].(string) + ":" + e["X"].(string)
			words = append(words, word)
		case "listStatus":
			words = append(words, "list:"+e["L"].(string))
		case "outboundAccountPosition":
			var assets []string
			for _, b := range e["B"].([]any) {
				assets = append(assets, b.(object)["a"].(string))
			}
			words = append(words, strings.Join(assets, "+"))
		default:
			words = append(words, "?")
		}
	}
	return strings.Join(words, " ")
}
