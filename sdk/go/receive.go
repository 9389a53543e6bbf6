package gateway

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"net/http"
	"sync"
	"time"
)

// Once runs act unless key was stored before, and stores key in the same transaction. If act fails,
// nothing is stored: the delivery comes again.
type Once func(ctx context.Context, key string, act func(tx *sql.Tx) error) error

// OnceInSQL keeps keys in a table. insert adds the key given as its one parameter unless it is there:
// INSERT INTO webhook_seen (key) VALUES ($1) ON CONFLICT DO NOTHING.
func OnceInSQL(db *sql.DB, insert string) Once {
	return func(ctx context.Context, key string, act func(*sql.Tx) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		// After a commit it does nothing.
		defer func() { _ = tx.Rollback() }()
		result, err := tx.ExecContext(ctx, insert, key)
		if err != nil {
			return err
		}
		if count, err := result.RowsAffected(); err != nil {
			return err
		} else if count == 1 {
			if err := act(tx); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
}

// OnceInMemory is for trying out: a restart forgets its keys, and a second process does not know
// them. tx is nil.
func OnceInMemory() Once {
	var lock sync.Mutex
	seen := map[string]bool{}
	return func(_ context.Context, key string, act func(*sql.Tx) error) error {
		lock.Lock()
		defer lock.Unlock()
		if seen[key] {
			return nil
		}
		if err := act(nil); err != nil {
			return err
		}
		seen[key] = true
		return nil
	}
}

// bodyMax is far above any delivery.
const bodyMax = 1 << 20

// PaymentIPNReceiver is an http.Handler for payment IPNs: it verifies, keeps notices, renewals and
// tests apart, and acts once per payment and status.
type PaymentIPNReceiver struct {
	// Secrets: one, or two while the old one is being replaced.
	Secrets []string
	Once    Once
	// OnPayment is told of each status once. Compare OrderID, PriceAmount and PriceCurrency with your
	// own record, then ship on PaymentStatusFinished.
	OnPayment func(ctx context.Context, payment PaymentIpn, tx *sql.Tx) error
	// OnNotice, if set, is told of money beside or after the payment. Show it to a person; never ship
	// on it.
	OnNotice func(ctx context.Context, notice Notice, payment PaymentIpn, tx *sql.Tx) error
	// OnRenewal, if set, is told of a subscription that is due. Mail RenewalURL to the subscriber
	// unless the gateway does; ship nothing. payment is the latest invoice, mostly finished.
	OnRenewal func(ctx context.Context, renewal Renewal, payment PaymentIpn, tx *sql.Tx) error
}

func (r *PaymentIPNReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	receive(w, request, http.StatusUnauthorized, func(body []byte) error {
		ctx := request.Context()
		event, err := VerifyPaymentIPN(body, request.Header.Get(PaymentSignatureHeader), time.Now(), r.Secrets...)
		if err != nil {
			return err
		}
		if event.IsTest {
			return nil
		}
		return r.Once(ctx, event.Key, func(tx *sql.Tx) error {
			return r.act(ctx, event, tx)
		})
	})
}

func (r *PaymentIPNReceiver) act(ctx context.Context, event *PaymentEvent, tx *sql.Tx) error {
	switch {
	case event.Notice != nil && r.OnNotice != nil:
		return r.OnNotice(ctx, *event.Notice, event.Payment, tx)
	case event.Renewal != nil && r.OnRenewal != nil:
		return r.OnRenewal(ctx, *event.Renewal, event.Payment, tx)
	case event.Notice != nil || event.Renewal != nil:
		return nil
	default:
		return r.OnPayment(ctx, event.Payment, tx)
	}
}

// PayoutWebhookReceiver is an http.Handler for webhooks of mass payouts: it verifies, keeps tests
// apart, and acts once per event.
type PayoutWebhookReceiver struct {
	Secrets []string
	Once    Once
	// OnEvent: events may overtake each other, so never let an older Order.UpdatedAt replace a newer
	// one.
	OnEvent func(ctx context.Context, event PayoutWebhook, tx *sql.Tx) error
}

func (r *PayoutWebhookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	// On this channel a 4xx drops the event for good, also when it is the own secret or clock that is
	// wrong; a 5xx is tried again and kept.
	receive(w, request, http.StatusInternalServerError, func(body []byte) error {
		ctx := request.Context()
		event, err := VerifyPayoutWebhook(body, request.Header.Get(PayoutSignatureHeader), time.Now(), r.Secrets...)
		if err != nil {
			return err
		}
		if event.IsTest() {
			return nil
		}
		return r.Once(ctx, event.EventID, func(tx *sql.Tx) error { return r.OnEvent(ctx, *event, tx) })
	})
}

func receive(w http.ResponseWriter, request *http.Request, refused int, act func([]byte) error) {
	if request.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, bodyMax))
	if err == nil {
		err = act(body)
	}
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.Is(err, ErrForged) || errors.Is(err, ErrStale):
		w.WriteHeader(refused)
	default:
		log.Printf("gateway: a webhook is answered 500 and comes again: %v", err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}
