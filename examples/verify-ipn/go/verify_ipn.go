package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

const maxAge = 10 * time.Minute

var (
	// ErrForged and ErrStale are not to be trusted: answer 401.
	ErrForged = errors.New("forged")
	ErrStale  = errors.New("stale")
	// ErrDuplicate was handled before, or is a test of yours: answer 200 and do nothing.
	ErrDuplicate = errors.New("duplicate")
)

// Event has the fields of an IPN that an order needs. json.Number keeps the digits of amounts.
type Event struct {
	EventID       string      `json:"event_id"`
	EventAt       int64       `json:"event_at"`
	PaymentID     string      `json:"payment_id"`
	PaymentStatus string      `json:"payment_status"`
	OrderID       *string     `json:"order_id"`
	PriceAmount   json.Number `json:"price_amount"`
	PriceCurrency string      `json:"price_currency"`
	Gateway       struct {
		Notice  *Notice  `json:"notice"`
		Renewal *Renewal `json:"renewal"`
		Test    bool     `json:"test"`
	} `json:"_gateway"`
}

// Notice describes money that came beside or after the payment. Amount is text in whole coins where
// Currency is known.
type Notice struct {
	Type     string  `json:"type"`
	TxHash   string  `json:"tx_hash"`
	Network  string  `json:"network"`
	Currency *string `json:"currency"`
	Amount   string  `json:"amount"`
}

// Renewal is the one that a reminder of a subscription is about. Only the subscriber may have
// RenewalURL.
type Renewal struct {
	DayOffset     int    `json:"day_offset"`
	NextRenewalAt string `json:"next_renewal_at"`
	Cycle         int    `json:"cycle"`
	RenewalURL    string `json:"renewal_url"`
}

// Verified has exactly one of the three.
type Verified struct {
	// Payment reached this status: the one event to act on.
	Payment *Event
	// Notice is for a person and changes nothing: its PaymentStatus only repeats the state of the
	// invoice.
	Notice *Event
	// Renewal: a subscription is due. Mail its RenewalURL to the subscriber unless the gateway
	// does, and ship nothing: its PaymentStatus, mostly finished, only repeats the state of the
	// latest invoice.
	Renewal *Event
}

// VerifyIPN checks the very bytes received (io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))) against the header
// x-gateway-sig. Parsing and encoding again gives other bytes.
//
// remember stores the key in a unique column and returns true if it was new. Do it in the
// transaction that fulfils the order: a key that is stored although the order was not fulfilled
// loses the payment.
func VerifyIPN(rawBody []byte, signature, secret string, now time.Time, remember func(key string) (bool, error)) (*Verified, error) {
	mac := hmac.New(sha512.New, []byte(secret))
	mac.Write(rawBody)
	expected := hex.EncodeToString(mac.Sum(nil))
	// Constant time; it checks the length itself.
	if !hmac.Equal([]byte(expected), []byte(signature)) {
		return nil, ErrForged
	}
	var event Event
	if err := json.Unmarshal(rawBody, &event); err != nil {
		return nil, err
	}
	if age := now.Sub(time.Unix(event.EventAt, 0)); age > maxAge || age < -maxAge {
		return nil, ErrStale
	}
	// Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
	if event.Gateway.Test {
		return nil, ErrDuplicate
	}
	// Each notice has an event id of its own and repeats the status: any buyer can cause many after
	// one payment. All fields are those of the signed body, never of a header.
	key, verified := event.PaymentID+" "+event.PaymentStatus, Verified{Payment: &event}
	if event.Gateway.Notice != nil {
		key, verified = event.EventID, Verified{Notice: &event}
	} else if event.Gateway.Renewal != nil {
		// So has each reminder: seven days, seven events of the same payment and status.
		key, verified = event.EventID, Verified{Renewal: &event}
	}
	isNew, err := remember(key)
	if err != nil {
		return nil, err
	}
	if !isNew {
		return nil, ErrDuplicate
	}
	return &verified, nil
}
