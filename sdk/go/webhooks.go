package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"time"
)

// The two channels differ in header, hash and body: verify each by its own function.
const (
	PaymentSignatureHeader = "X-Gateway-Sig"
	PayoutSignatureHeader  = "X-Gateway-Signature"
)

// maxAge is the greatest distance of a delivery's time from your clock.
const maxAge = 10 * time.Minute

// PaymentEvent is a payment IPN that verified.
type PaymentEvent struct {
	Payment PaymentIpn
	// Notice: money came beside or after the payment. That is for a person: it changes nothing, and
	// PaymentStatus only repeats the state of the invoice. Never ship on it. Without a notice, a
	// renewal and a test the payment reached its PaymentStatus: the one kind of event to act on.
	Notice *Notice
	// Renewal: a subscription is due. Mail RenewalURL to the subscriber unless the gateway does,
	// and ship nothing: Payment is the latest invoice as it stands, mostly finished.
	Renewal *Renewal
	// Key: act once per key.
	Key string
	// IsTest: you, or your operator, tried the receiver. Nothing was paid: answer 200 and do nothing
	// else.
	IsTest bool
}

// VerifyPaymentIPN verifies a payment IPN: header X-Gateway-Sig, HMAC-SHA-512. rawBody is what was
// received, byte for byte: parsing and encoding again gives other bytes. Further secrets are accepted
// too, while one is being replaced. The error is ErrForged or ErrStale.
func VerifyPaymentIPN(rawBody []byte, signature string, now time.Time, secrets ...string) (*PaymentEvent, error) {
	if err := authentic(sha512.New, rawBody, signature, secrets); err != nil {
		return nil, err
	}
	var body struct {
		PaymentIpn
		Gateway struct {
			Notice  *Notice  `json:"notice"`
			Renewal *Renewal `json:"renewal"`
			Test    bool     `json:"test"`
		} `json:"_gateway"`
	}
	if json.Unmarshal(rawBody, &body) != nil {
		return nil, ErrForged
	}
	if err := fresh(body.EventAt, now); err != nil {
		return nil, err
	}
	part := body.Gateway
	event := PaymentEvent{Payment: body.PaymentIpn, Notice: part.Notice, Renewal: part.Renewal, IsTest: part.Test}
	event.Key = body.PaymentID + " " + string(body.PaymentStatus)
	if event.Notice != nil || event.Renewal != nil || event.IsTest {
		event.Key = body.EventID
	}
	return &event, nil
}

// VerifyPayoutWebhook verifies a webhook of mass payouts: header X-Gateway-Signature, HMAC-SHA-256.
// Act once per EventID. The error is ErrForged or ErrStale.
func VerifyPayoutWebhook(rawBody []byte, signature string, now time.Time, secrets ...string) (*PayoutWebhook, error) {
	if err := authentic(sha256.New, rawBody, signature, secrets); err != nil {
		return nil, err
	}
	var event PayoutWebhook
	if json.Unmarshal(rawBody, &event) != nil {
		return nil, ErrForged
	}
	return &event, fresh(event.EventAt, now)
}

// IsTest is true of a webhook that was made for a test. Nothing was paid: answer 200 and do nothing
// else.
func (event *PayoutWebhook) IsTest() bool {
	return event.Gateway != nil && event.Gateway.Test
}

func authentic(algorithm func() hash.Hash, rawBody []byte, signature string, secrets []string) error {
	isOurs := false
	for _, secret := range secrets {
		if secret == "" {
			return fmt.Errorf("%w: the webhook secret is empty", ErrArgument)
		}
		mac := hmac.New(algorithm, []byte(secret))
		mac.Write(rawBody)
		expected := hex.EncodeToString(mac.Sum(nil))
		// Constant time; it checks the length itself.
		isOurs = hmac.Equal([]byte(expected), []byte(signature)) || isOurs
	}
	if len(secrets) == 0 {
		return fmt.Errorf("%w: no webhook secret", ErrArgument)
	}
	if !isOurs {
		return ErrForged
	}
	return nil
}

func fresh(at int64, now time.Time) error {
	if age := now.Sub(time.Unix(at, 0)); age > maxAge || age < -maxAge {
		return ErrStale
	}
	return nil
}
