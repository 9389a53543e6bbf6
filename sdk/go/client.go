// Package gateway is a client of the crypto payment gateway's API, version 1, and receives its
// webhooks.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client is safe for use by many goroutines.
type Client struct {
	Payments Payments
	// MassPayouts on bitcoin, litecoin and dogecoin.
	MassPayouts MassPayouts
	// EVMMassPayouts on the EVM networks.
	EVMMassPayouts MassPayouts
	// NcPayouts are those that you sign yourself.
	NcPayouts NcPayouts
	transport *transport
}

// New makes a client. baseURL is the gateway's address without /v1. The key may be empty for
// currencies, estimates, minimums and the buyer's status.
func New(baseURL, apiKey string, options Options) (*Client, error) {
	t, err := newTransport(baseURL, apiKey, options)
	if err != nil {
		return nil, err
	}
	return &Client{
		Payments: Payments{t}, MassPayouts: MassPayouts{t, "/v1/mass-payout"},
		EVMMassPayouts: MassPayouts{t, "/v1/evm-mass-payout"}, NcPayouts: NcPayouts{t}, transport: t,
	}, nil
}

// Status says OK while the gateway is alive.
func (c *Client) Status(ctx context.Context) (*Alive, error) {
	return read[Alive](c.transport, ctx, "/v1/status", nil)
}

// Currencies are those on offer.
func (c *Client) Currencies(ctx context.Context) (*Currencies, error) {
	return read[Currencies](c.transport, ctx, "/v1/currencies", nil)
}

// Estimate is a price in a currency, now; not binding. network may be empty.
func (c *Client) Estimate(ctx context.Context, amount Amount, from, to, network string) (*Estimate, error) {
	if !amount.isDecimal() {
		return nil, fmt.Errorf("%w: %v", ErrArgument, errNoAmount)
	}
	query := values("amount", string(amount), "currency_from", from, "currency_to", to, "network", network)
	return read[Estimate](c.transport, ctx, "/v1/estimate", query)
}

// MinAmount is the smallest payment in a currency. network may be empty.
func (c *Client) MinAmount(ctx context.Context, to, network string) (*MinAmount, error) {
	return read[MinAmount](c.transport, ctx, "/v1/min-amount", values("currency_to", to, "network", network))
}

// Payments creates and reads invoices.
type Payments struct{ transport *transport }

// Create creates an invoice, once per idempotency key: a random one if none is named.
func (p Payments) Create(ctx context.Context, payment NewPayment, options ...CreateOption) (*Payment, error) {
	var made Payment
	if err := p.transport.post(ctx, "/v1/payment", payment, keyOr(options), &made); err != nil {
		return nil, err
	}
	return &made, nil
}

// Get reads an invoice by its payment_id, or by your own order_id.
func (p Payments) Get(ctx context.Context, id string) (*PaymentDetail, error) {
	return p.get(ctx, id, 0)
}

func (p Payments) get(ctx context.Context, id string, maxWait time.Duration) (*PaymentDetail, error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	var found PaymentDetail
	r := request{method: http.MethodGet, path: "/v1/payment/" + part, maxWait: maxWait}
	if err := p.transport.send(ctx, r, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

// PaymentQuery of a list; zero values mean the API's defaults.
type PaymentQuery struct {
	Limit, Page int
	// SortBy is created_at or updated_at, OrderBy desc or asc.
	SortBy, OrderBy string
}

// List reads one page.
func (p Payments) List(ctx context.Context, query PaymentQuery) (*Page[Payment], error) {
	given := paged(query.Limit, query.Page, "sortBy", query.SortBy, "orderBy", query.OrderBy)
	return read[Page[Payment]](p.transport, ctx, "/v1/payment", given)
}

// Each goes through all invoices, oldest first, so that new ones come last. It waits out the rate
// limit. limit is the size of a page, 100 if 0.
func (p Payments) Each(ctx context.Context, limit int) Each[Payment] {
	query := paged(hundredIfZero(limit), 0, "orderBy", "asc")
	return each(p.transport, ctx, "/v1/payment", query, func(payment Payment) string { return payment.PaymentID })
}

// BuyerStatus is the buyer's view. The id is the credential.
func (p Payments) BuyerStatus(ctx context.Context, id string) (*BuyerStatus, error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	return read[BuyerStatus](p.transport, ctx, "/v1/invoices/"+part+"/status", nil)
}

// Wait looks every interval (3 seconds if 0) until the invoice is finished, expired or failed, or
// the timeout (30 minutes if 0) has passed, and returns it as it is then. A webhook tells you sooner
// and at no cost: this is for scripts.
func (p Payments) Wait(ctx context.Context, id string, timeout, interval time.Duration) (*PaymentDetail, error) {
	if interval == 0 {
		interval = 3 * time.Second
	}
	if timeout == 0 {
		timeout = 30 * time.Minute
	}
	until := time.Now().Add(timeout)
	for {
		payment, err := p.get(ctx, id, patient)
		if err != nil {
			return nil, err
		}
		switch payment.PaymentStatus {
		case PaymentStatusFinished, PaymentStatusExpired, PaymentStatusFailed:
			return payment, nil
		}
		if time.Now().Add(interval).After(until) {
			return payment, nil
		}
		if err := sleep(ctx, interval); err != nil {
			return nil, err
		}
	}
}

// MassPayouts has the operations of both families: they are the same.
type MassPayouts struct {
	transport *transport
	path      string
}

// Create creates a draft with its quote. Its idempotency key is kept for ever.
func (m MassPayouts) Create(ctx context.Context, order NewPayout, options ...CreateOption) (*PayoutOrder, error) {
	var made data[PayoutOrder]
	if err := m.transport.post(ctx, m.path, order, keyOr(options), &made); err != nil {
		return nil, err
	}
	return &made.Data, nil
}

// CreateCSV does the same from a file with a heading: address, amount, and if wanted reference, memo.
// Items and Metadata of the order are not sent.
func (m MassPayouts) CreateCSV(ctx context.Context, order NewPayout, csv string, options ...CreateOption) (*PayoutOrder, error) {
	query := values("network", order.Network, "currency", order.Currency, "feeMode", string(order.FeeMode),
		"refundAddress", order.RefundAddress, "label", order.Label, "callbackUrl", order.CallbackURL)
	var made data[PayoutOrder]
	r := request{method: http.MethodPost, path: m.path, query: query, body: []byte(csv), contentType: "text/csv", idempotencyKey: keyOr(options)}
	if err := m.transport.send(ctx, r, &made); err != nil {
		return nil, err
	}
	return &made.Data, nil
}

// Get reads an order.
func (m MassPayouts) Get(ctx context.Context, id string) (*PayoutOrder, error) {
	return ofID[PayoutOrder](m.transport, ctx, http.MethodGet, m.path, id, "", nil)
}

// List reads one page of orders, newest first. state may be empty.
func (m MassPayouts) List(ctx context.Context, limit, page int, state OrderState) (*Page[PayoutOrder], error) {
	return read[Page[PayoutOrder]](m.transport, ctx, m.path, paged(limit, page, "state", string(state)))
}

// Each goes through all orders, newest first. limit is the size of a page, 100 if 0.
func (m MassPayouts) Each(ctx context.Context, limit int, state OrderState) Each[PayoutOrder] {
	query := paged(hundredIfZero(limit), 0, "state", string(state))
	return each(m.transport, ctx, m.path, query, func(order PayoutOrder) string { return order.ID })
}

// Items reads one page of an order's recipients.
func (m MassPayouts) Items(ctx context.Context, id string, limit, page int, state ItemStateName) (*Page[PayoutItem], error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	query := paged(limit, page, "state", string(state))
	return read[Page[PayoutItem]](m.transport, ctx, m.path+"/"+part+"/items", query)
}

// EachItem goes through all recipients of an order, in the order of its rows.
func (m MassPayouts) EachItem(ctx context.Context, id string, limit int, state ItemStateName) Each[PayoutItem] {
	part, err := segment(id)
	if err != nil {
		return func(yield func(PayoutItem, error) bool) { yield(PayoutItem{}, err) }
	}
	query := paged(hundredIfZero(limit), 0, "state", string(state))
	return each(m.transport, ctx, m.path+"/"+part+"/items", query, func(item PayoutItem) string { return item.ID })
}

// Batches reads an order's transactions.
func (m MassPayouts) Batches(ctx context.Context, id string) ([]PayoutBatch, error) {
	found, err := ofID[[]PayoutBatch](m.transport, ctx, http.MethodGet, m.path, id, "/batches", nil)
	if err != nil {
		return nil, err
	}
	return *found, nil
}

// Confirm gives the order its deposit address. Name the quote that you were shown, and no other is
// taken.
func (m MassPayouts) Confirm(ctx context.Context, id string, quote ConfirmPayout) (*PayoutOrder, error) {
	return ofID[PayoutOrder](m.transport, ctx, http.MethodPost, m.path, id, "/confirm", quote)
}

// RefreshQuote prices it again.
func (m MassPayouts) RefreshQuote(ctx context.Context, id string) (*PayoutOrder, error) {
	return ofID[PayoutOrder](m.transport, ctx, http.MethodPost, m.path, id, "/refresh-quote", nil)
}

// Cancel cancels it; what came in goes back to RefundAddress. Repeating it changes nothing.
func (m MassPayouts) Cancel(ctx context.Context, id string) (*PayoutOrder, error) {
	order, err := ofID[PayoutOrder](m.transport, ctx, http.MethodPost, m.path, id, "/cancel", nil)
	var refused *APIError
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		// An earlier attempt, whose answer was lost, has cancelled it.
		var standing PayoutStanding
		if json.Unmarshal(refused.Details, &standing) == nil && standing.State == OrderStateCancelled {
			return m.Get(ctx, id)
		}
	}
	return order, err
}

// ReportCSV has one line per recipient.
func (m MassPayouts) ReportCSV(ctx context.Context, id string) (string, error) {
	part, err := segment(id)
	if err != nil {
		return "", err
	}
	var text string
	err = m.transport.get(ctx, m.path+"/"+part+"/report.csv", nil, &text)
	return text, err
}

// TemplateCSV is a file to fill in.
func (m MassPayouts) TemplateCSV(ctx context.Context) (string, error) {
	var text string
	err := m.transport.get(ctx, m.path+"/template.csv", nil, &text)
	return text, err
}

// NcPayouts builds payouts that the merchant signs.
type NcPayouts struct{ transport *transport }

const ncPath = "/v1/nc-payout"

// Create builds what is to be signed. Its idempotency key is kept for ever.
func (n NcPayouts) Create(ctx context.Context, payout NewNcPayout, options ...CreateOption) (*NcPayout, error) {
	var made data[NcPayout]
	if err := n.transport.post(ctx, ncPath, payout, keyOr(options), &made); err != nil {
		return nil, err
	}
	return &made.Data, nil
}

// Get reads a payout.
func (n NcPayouts) Get(ctx context.Context, id string) (*NcPayout, error) {
	return ofID[NcPayout](n.transport, ctx, http.MethodGet, ncPath, id, "", nil)
}

// List reads one page of payouts, newest first. state may be empty.
func (n NcPayouts) List(ctx context.Context, limit, page int, state NcState) (*Page[NcPayout], error) {
	return read[Page[NcPayout]](n.transport, ctx, ncPath, paged(limit, page, "state", string(state)))
}

// Each goes through all payouts, newest first. limit is the size of a page, 100 if 0.
func (n NcPayouts) Each(ctx context.Context, limit int, state NcState) Each[NcPayout] {
	query := paged(hundredIfZero(limit), 0, "state", string(state))
	return each(n.transport, ctx, ncPath, query, func(payout NcPayout) string { return payout.ID })
}

// Submit hands in all signed transactions; they are sent until a block holds them.
func (n NcPayouts) Submit(ctx context.Context, id string, signed []string) (*NcPayout, error) {
	return ofID[NcPayout](n.transport, ctx, http.MethodPost, ncPath, id, "/submit", NcSubmission{Signed: signed})
}

// Refresh builds it again, with the fees of now and the same nonces or inputs. An empty level is the
// one before.
func (n NcPayouts) Refresh(ctx context.Context, id string, level NcFeeLevel) (*NcPayout, error) {
	return ofID[NcPayout](n.transport, ctx, http.MethodPost, ncPath, id, "/refresh", NcRefresh{FeeLevel: level})
}

// Cancel gives it up; only until it was submitted.
func (n NcPayouts) Cancel(ctx context.Context, id string) (*NcPayout, error) {
	return ofID[NcPayout](n.transport, ctx, http.MethodPost, ncPath, id, "/cancel", nil)
}

// data is the envelope of payouts.
type data[T any] struct {
	Data T `json:"data"`
}

func read[T any](t *transport, ctx context.Context, path string, query url.Values) (*T, error) {
	var found T
	if err := t.get(ctx, path, query, &found); err != nil {
		return nil, err
	}
	return &found, nil
}

func ofID[T any](t *transport, ctx context.Context, method, path, id, operation string, body any) (*T, error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	var found data[T]
	path += "/" + part + operation
	if method == http.MethodGet {
		err = t.get(ctx, path, nil, &found)
	} else {
		err = t.post(ctx, path, body, "", &found)
	}
	if err != nil {
		return nil, err
	}
	return &found.Data, nil
}

// values of names and values in turn, without those that are empty.
func values(pairs ...string) url.Values {
	found := url.Values{}
	for at := 0; at+1 < len(pairs); at += 2 {
		if pairs[at+1] != "" {
			found.Set(pairs[at], pairs[at+1])
		}
	}
	return found
}

func paged(limit, page int, more ...string) url.Values {
	found := values(more...)
	if limit != 0 {
		found.Set("limit", strconv.Itoa(limit))
	}
	if page != 0 {
		found.Set("page", strconv.Itoa(page))
	}
	return found
}

func hundredIfZero(limit int) int {
	if limit == 0 {
		return 100
	}
	return limit
}
