package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// EventQuery of the feed; zero values mean the API's defaults.
type EventQuery struct {
	// After is an event's id: the feed begins behind it.
	After string
	// Type of the events; all if empty.
	Type string
	// Limit is the size of a page, 100 if 0.
	Limit int
}

// Events goes through everything that happened behind the event query.After, oldest first, also what
// has no webhook. It ends where there is no more now. Act once per EventID, and keep the last one: it
// is the next After. It waits out the rate limit.
func (c *Client) Events(ctx context.Context, query EventQuery) Each[Event] {
	return func(yield func(Event, error) bool) {
		asked := values("after", query.After, "type", query.Type, "limit", strconv.Itoa(hundredIfZero(query.Limit)))
		for {
			var page EventPage
			r := request{method: http.MethodGet, path: "/v1/events", query: asked, maxWait: patient}
			if err := c.transport.send(ctx, r, &page); err != nil {
				yield(Event{}, err)
				return
			}
			for _, event := range page.Data {
				if !yield(event, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			if page.Next != nil {
				asked.Set("after", *page.Next)
			}
		}
	}
}

// Event reads one event, with every attempt to deliver its webhook.
func (c *Client) Event(ctx context.Context, id string) (*Event, error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	return read[Event](c.transport, ctx, "/v1/events/"+part, nil)
}

// ResendEvent sends an event's webhook again, under the same EventID. While attempts are under way it
// changes nothing.
func (c *Client) ResendEvent(ctx context.Context, id string) (*Event, error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	return posted[Event](c.transport, ctx, "/v1/events/"+part+"/resend", nil)
}

// ResendEvents sends the webhooks of many events again: all that failed, if nothing narrows it. It
// returns the ids of the events that were started, and waits out the rate limit.
func (c *Client) ResendEvents(ctx context.Context, which NewEventsResend) ([]string, error) {
	started := []string{}
	for {
		text, err := marshalled(which)
		if err != nil {
			return nil, err
		}
		var page EventsResent
		r := request{method: http.MethodPost, path: "/v1/events/resend", contentType: "application/json", body: text, maxWait: patient}
		if err := c.transport.send(ctx, r, &page); err != nil {
			return started, err
		}
		started = append(started, page.EventIDs...)
		if !page.HasMore {
			return started, nil
		}
		if page.Next != nil {
			which.After = *page.Next
		}
	}
}

// TestWebhook sends a signed sample to a receiver now, and returns what it said. The sample says that
// it is a test. Without a URL it goes where such webhooks go.
func (c *Client) TestWebhook(ctx context.Context, test WebhookTest) (*WebhookTestResult, error) {
	return posted[WebhookTestResult](c.transport, ctx, "/v1/webhooks/test", test)
}

// Balance is what the ledger says you have, per currency and network. fiat, the currency of the
// estimates, may be empty.
func (c *Client) Balance(ctx context.Context, fiat string) (*Balance, error) {
	return read[Balance](c.transport, ctx, "/v1/balance", values("fiat", fiat))
}

// SandboxDeposit pays an invoice, or an address of yours, on the simulated chain, once: a random Txid
// if none is named. Only in the sandbox.
func (c *Client) SandboxDeposit(ctx context.Context, deposit NewSandboxDeposit) (*SandboxDeposit, error) {
	if deposit.Txid == "" {
		bytes := make([]byte, 16)
		if _, err := rand.Read(bytes); err != nil {
			return nil, err
		}
		deposit.Txid = fmt.Sprintf("%x", bytes)
	}
	return posted[SandboxDeposit](c.transport, ctx, "/v1/sandbox/deposit", deposit)
}

// SandboxExpire ends the time to pay an invoice. Only in the sandbox.
func (c *Client) SandboxExpire(ctx context.Context, paymentID string) (*Payment, error) {
	return posted[Payment](c.transport, ctx, "/v1/sandbox/expire", SandboxExpiry{PaymentID: paymentID})
}

// Deposits are what reached the address of an invoice, also unconfirmed or in another currency. A
// limit of 0 means the API's default.
func (p Payments) Deposits(ctx context.Context, id string, limit int) (*PaymentDeposits, error) {
	part, err := segment(id)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return read[PaymentDeposits](p.transport, ctx, "/v1/payment/"+part+"/deposits", query)
}

func posted[T any](t *transport, ctx context.Context, path string, body any) (*T, error) {
	var answer T
	if err := t.post(ctx, path, body, "", &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}
