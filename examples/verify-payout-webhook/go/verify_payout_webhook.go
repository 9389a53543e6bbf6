package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"
)

const payoutWebhookMaxAge = 10 * time.Minute

var (
	// ErrPayoutForged and ErrPayoutStale are not to be trusted: answer 401.
	ErrPayoutForged = errors.New("forged")
	ErrPayoutStale  = errors.New("stale")
	// ErrPayoutDuplicate was handled before, or is a test of yours: answer 200 and do nothing.
	ErrPayoutDuplicate = errors.New("duplicate")
)

// PayoutEvent has the fields of a payout webhook that your books need. Amounts named Raw are base units as text.
type PayoutEvent struct {
	EventType string `json:"eventType"`
	EventID   string `json:"eventId"`
	EventAt   int64  `json:"eventAt"`
	Order     struct {
		ID             string `json:"id"`
		State          string `json:"state"`
		PayoutTotalRaw string `json:"payoutTotalRaw"`
		PaidRaw        string `json:"paidRaw"`
		FailedRaw      string `json:"failedRaw"`
	} `json:"order"`
	Gateway struct {
		Test bool `json:"test"`
	} `json:"_gateway"`
}

// VerifyPayoutWebhook checks the very bytes received (io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))) against the
// header X-Gateway-Signature. Parsing and encoding again gives other bytes.
//
// remember stores the id under a unique key and says whether it was new. Do it in the transaction that books the event:
// an id that is stored although nothing was booked loses the event.
func VerifyPayoutWebhook(rawBody []byte, signature, secret string, now time.Time, remember func(eventID string) (bool, error)) (*PayoutEvent, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(rawBody)
	expected := hex.EncodeToString(mac.Sum(nil))
	// Constant time; it checks the length itself.
	if !hmac.Equal([]byte(expected), []byte(signature)) {
		return nil, ErrPayoutForged
	}
	var event PayoutEvent
	if err := json.Unmarshal(rawBody, &event); err != nil {
		return nil, err
	}
	if age := now.Sub(time.Unix(event.EventAt, 0)); age > payoutWebhookMaxAge || age < -payoutWebhookMaxAge {
		return nil, ErrPayoutStale
	}
	// Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
	if event.Gateway.Test {
		return nil, ErrPayoutDuplicate
	}
	// The id of the signed body, not of the header, which anyone could have changed.
	isNew, err := remember(event.EventID)
	if err != nil {
		return nil, err
	}
	if !isNew {
		return nil, ErrPayoutDuplicate
	}
	return &event, nil
}
