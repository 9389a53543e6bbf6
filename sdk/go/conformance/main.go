// Command conformance calls the SDK as sdk/conformance.py asks: one JSON object a line in, one out.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	gateway "example.com/gateway/sdk/go"
)

// asked has the arguments of all calls.
type asked struct {
	Op, Client, Name, BaseURL, APIKey, ID, CSV, FeeLevel string
	IdempotencyKey, PaymentSecret, PayoutSecret          string
	Body, Signature, Secret                              json.RawMessage
	Order                                                gateway.NewPayout
	Signed                                               []string
	Timeout, RetryFor, Interval                          float64
	Now                                                  int64
	Query                                                struct {
		Limit, Page            int
		SortBy, OrderBy, State string
		Amount                 gateway.Amount
		From                   string `json:"currency_from"`
		To                     string `json:"currency_to"`
		After, Type, Fiat      string
	}
}

var (
	ctx     = context.Background()
	clients = map[string]*gateway.Client{}
	lock    sync.Mutex
	acts    = map[string][]string{"payments": {}, "notices": {}, "renewals": {}, "events": {}}
	failing bool
)

func note(kind, text string) { acts[kind] = append(acts[kind], text) }

func listen(a asked) (any, error) {
	ipn := &gateway.PaymentIPNReceiver{
		Secrets: []string{"the one before", a.PaymentSecret}, Once: gateway.OnceInMemory(),
		OnPayment: func(_ context.Context, payment gateway.PaymentIpn, _ *sql.Tx) error {
			lock.Lock()
			defer lock.Unlock()
			if failing {
				failing = false
				return errors.New("as the scenario asked")
			}
			note("payments", fmt.Sprintf("%s %s %s", payment.PaymentID, payment.PaymentStatus, payment.ActuallyPaid))
			return nil
		},
		OnNotice: func(_ context.Context, notice gateway.Notice, _ gateway.PaymentIpn, _ *sql.Tx) error {
			lock.Lock()
			defer lock.Unlock()
			note("notices", notice.Type+" "+notice.Amount)
			return nil
		},
		OnRenewal: func(_ context.Context, renewal gateway.Renewal, payment gateway.PaymentIpn, _ *sql.Tx) error {
			lock.Lock()
			defer lock.Unlock()
			note("renewals", fmt.Sprintf("%d %s %s", renewal.DayOffset, renewal.RenewalURL, payment.PaymentStatus))
			return nil
		},
	}
	payouts := &gateway.PayoutWebhookReceiver{
		Secrets: []string{a.PayoutSecret}, Once: gateway.OnceInMemory(),
		OnEvent: func(_ context.Context, event gateway.PayoutWebhook, _ *sql.Tx) error {
			lock.Lock()
			defer lock.Unlock()
			note("events", fmt.Sprintf("%s %s %s", event.EventType, event.Order.ID, event.Order.State))
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/ipn", ipn)
	mux.Handle("/payouts", payouts)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { log.Fatal(http.Serve(listener, mux)) }()
	base := "http://" + listener.Addr().String()
	return map[string]string{"payments": base + "/ipn", "payouts": base + "/payouts"}, nil
}

func open(a asked) (any, error) {
	client, err := gateway.New(a.BaseURL, a.APIKey, gateway.Options{Timeout: seconds(a.Timeout), RetryFor: seconds(a.RetryFor)})
	clients[a.Name] = client
	if strings.Contains(fmt.Sprintf("%v %+v %#v", client.Payments, client.Payments, client.Payments), a.APIKey) {
		return nil, errors.New("the key is printed")
	}
	return true, err
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func collected[T any](items gateway.Each[T], id func(T) string) (any, error) {
	found, failure := []string{}, error(nil)
	items(func(item T, err error) bool {
		failure = err
		found = append(found, id(item))
		return err == nil
	})
	return found, failure
}

func all[T any](items gateway.Each[T]) (any, error) {
	found, failure := []T{}, error(nil)
	items(func(item T, err error) bool {
		failure = err
		found = append(found, item)
		return err == nil
	})
	return found, failure
}

func body[T any](a asked) T {
	var into T
	if err := json.Unmarshal(a.Body, &into); err != nil {
		log.Fatalf("%s: %v", a.Body, err)
	}
	return into
}

func text(raw json.RawMessage) string {
	var into string
	if err := json.Unmarshal(raw, &into); err != nil {
		log.Fatal(err)
	}
	return into
}

func call(a asked) (any, error) {
	group, name, _ := strings.Cut(a.Op, ".")
	client := clients[a.Client]
	switch group {
	case "open":
		return open(a)
	case "listen":
		return listen(a)
	case "acts":
		lock.Lock()
		defer lock.Unlock()
		return acts, nil
	case "failNext":
		lock.Lock()
		defer lock.Unlock()
		failing = true
		return true, nil
	case "verifyPaymentIpn":
		event, err := gateway.VerifyPaymentIPN([]byte(text(a.Body)), text(a.Signature), time.Unix(a.Now, 0), text(a.Secret))
		if err != nil {
			return nil, err
		}
		kind := "payment"
		if event.Notice != nil {
			kind = "notice"
		} else if event.Renewal != nil {
			kind = "renewal"
		}
		return map[string]any{
			"kind": kind, "key": event.Key, "event": event.Payment, "notice": event.Notice, "renewal": event.Renewal,
		}, nil
	case "verifyPayoutWebhook":
		event, err := gateway.VerifyPayoutWebhook([]byte(text(a.Body)), text(a.Signature), time.Unix(a.Now, 0), text(a.Secret))
		if err != nil {
			return nil, err
		}
		return map[string]any{"kind": "payout", "key": event.EventID, "event": event}, nil
	case "status":
		return client.Status(ctx)
	case "currencies":
		return client.Currencies(ctx)
	case "estimate":
		return client.Estimate(ctx, a.Query.Amount, a.Query.From, a.Query.To, "")
	case "minAmount":
		return client.MinAmount(ctx, a.Query.To, "")
	case "events":
		return all(client.Events(ctx, gateway.EventQuery{After: a.Query.After, Type: a.Query.Type, Limit: a.Query.Limit}))
	case "event":
		return client.Event(ctx, a.ID)
	case "resendEvent":
		return client.ResendEvent(ctx, a.ID)
	case "resendEvents":
		return client.ResendEvents(ctx, body[gateway.NewEventsResend](a))
	case "testWebhook":
		return client.TestWebhook(ctx, body[gateway.WebhookTest](a))
	case "balance":
		return client.Balance(ctx, a.Query.Fiat)
	case "sandboxDeposit":
		return client.SandboxDeposit(ctx, body[gateway.NewSandboxDeposit](a))
	case "sandboxExpire":
		return client.SandboxExpire(ctx, a.ID)
	case "payments":
		return payments(client.Payments, name, a)
	case "massPayouts":
		return payouts(client.MassPayouts, name, a)
	case "evmMassPayouts":
		return payouts(client.EVMMassPayouts, name, a)
	case "ncPayouts":
		return ncPayouts(client.NcPayouts, name, a)
	}
	return nil, fmt.Errorf("no call %s", a.Op)
}

func options(a asked) []gateway.CreateOption {
	if a.IdempotencyKey == "" {
		return nil
	}
	return []gateway.CreateOption{gateway.WithIdempotencyKey(a.IdempotencyKey)}
}

func payments(of gateway.Payments, name string, a asked) (any, error) {
	q := a.Query
	switch name {
	case "create":
		return of.Create(ctx, body[gateway.NewPayment](a), options(a)...)
	case "get":
		return of.Get(ctx, a.ID)
	case "list":
		return of.List(ctx, gateway.PaymentQuery{Limit: q.Limit, Page: q.Page, SortBy: q.SortBy, OrderBy: q.OrderBy})
	case "each":
		return collected(of.Each(ctx, q.Limit), func(p gateway.Payment) string { return p.PaymentID })
	case "wait":
		return of.Wait(ctx, a.ID, seconds(a.Timeout), seconds(a.Interval))
	case "deposits":
		return of.Deposits(ctx, a.ID, q.Limit)
	case "buyerStatus":
		return of.BuyerStatus(ctx, a.ID)
	}
	return nil, fmt.Errorf("no call %s", a.Op)
}

func payouts(of gateway.MassPayouts, name string, a asked) (any, error) {
	q := a.Query
	switch name {
	case "create":
		return of.Create(ctx, body[gateway.NewPayout](a), options(a)...)
	case "createCsv":
		return of.CreateCSV(ctx, a.Order, a.CSV)
	case "get":
		return of.Get(ctx, a.ID)
	case "list":
		return of.List(ctx, q.Limit, q.Page, gateway.OrderState(q.State))
	case "each":
		return collected(of.Each(ctx, q.Limit, ""), func(o gateway.PayoutOrder) string { return o.ID })
	case "items":
		return of.Items(ctx, a.ID, q.Limit, q.Page, "")
	case "eachItem":
		return collected(of.EachItem(ctx, a.ID, q.Limit, ""), func(i gateway.PayoutItem) string { return i.ID })
	case "batches":
		return of.Batches(ctx, a.ID)
	case "confirm":
		return of.Confirm(ctx, a.ID, body[gateway.ConfirmPayout](a))
	case "refreshQuote":
		return of.RefreshQuote(ctx, a.ID)
	case "cancel":
		return of.Cancel(ctx, a.ID)
	case "reportCsv":
		return of.ReportCSV(ctx, a.ID)
	case "templateCsv":
		return of.TemplateCSV(ctx)
	}
	return nil, fmt.Errorf("no call %s", a.Op)
}

func ncPayouts(of gateway.NcPayouts, name string, a asked) (any, error) {
	switch name {
	case "create":
		return of.Create(ctx, body[gateway.NewNcPayout](a))
	case "get":
		return of.Get(ctx, a.ID)
	case "list":
		return of.List(ctx, a.Query.Limit, a.Query.Page, gateway.NcState(a.Query.State))
	case "each":
		return collected(of.Each(ctx, a.Query.Limit, ""), func(p gateway.NcPayout) string { return p.ID })
	case "submit":
		return of.Submit(ctx, a.ID, a.Signed)
	case "refresh":
		return of.Refresh(ctx, a.ID, gateway.NcFeeLevel(a.FeeLevel))
	case "cancel":
		return of.Cancel(ctx, a.ID)
	}
	return nil, fmt.Errorf("no call %s", a.Op)
}

func failure(err error) map[string]any {
	told := map[string]any{"message": err.Error(), "type": err.Error()}
	for kind, name := range map[error]string{
		gateway.ErrInvalidRequest: "InvalidRequest", gateway.ErrAuthentication: "Authentication",
		gateway.ErrPermission: "Permission", gateway.ErrNotFound: "NotFound", gateway.ErrConflict: "Conflict",
		gateway.ErrRateLimit: "RateLimit", gateway.ErrQuota: "Quota", gateway.ErrServer: "Server",
		gateway.ErrArgument: "Argument", gateway.ErrForged: "Webhook", gateway.ErrStale: "Webhook",
	} {
		if errors.Is(err, kind) {
			told["type"] = name
		}
	}
	var refused *gateway.APIError
	if errors.As(err, &refused) {
		told["code"], told["status"], told["details"] = refused.Code, refused.Status, refused.Details
		told["retryAfter"] = refused.RetryAfter / time.Second
	}
	var lost *gateway.ConnectionError
	if errors.As(err, &lost) {
		told["type"], told["idempotencyKey"] = "Connection", lost.IdempotencyKey
	}
	if errors.Is(err, gateway.ErrForged) {
		told["reason"] = "forged"
	}
	if errors.Is(err, gateway.ErrStale) {
		told["reason"] = "stale"
	}
	return told
}

func main() {
	log.SetOutput(io.Discard)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	write := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var a asked
		answer := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			answer["error"] = failure(err)
		} else if ok, err := call(a); err != nil {
			answer["error"] = failure(err)
		} else {
			answer["ok"] = ok
		}
		if err := write.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
