package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kinds of errors, for errors.Is.
var (
	// ErrInvalidRequest: 400, 413, 422. The request can never succeed as it is.
	ErrInvalidRequest = errors.New("gateway: invalid request")
	// ErrAuthentication: 401. The API key is missing, malformed or unknown.
	ErrAuthentication = errors.New("gateway: authentication failed")
	// ErrPermission: 403. The merchant is suspended.
	ErrPermission = errors.New("gateway: permission denied")
	// ErrNotFound: 404. Nothing of this merchant has that id.
	ErrNotFound = errors.New("gateway: not found")
	// ErrConflict: 409. The state does not allow it, or the idempotency key was used for another
	// request.
	ErrConflict = errors.New("gateway: conflict")
	// ErrRateLimit: 429. More than 60 requests within 60 seconds, and Retry-After was above MaxWait.
	ErrRateLimit = errors.New("gateway: rate limited")
	// ErrQuota: 429. Too many open invoices; repeating helps only after some have ended.
	ErrQuota = errors.New("gateway: quota exceeded")
	// ErrServer: 5xx, and any answer that is not the gateway's.
	ErrServer = errors.New("gateway: server error")
	// ErrArgument: a wrong argument; nothing was sent.
	ErrArgument = errors.New("gateway: wrong argument")
	// ErrForged and ErrStale: a delivery that is not to be trusted.
	ErrForged = errors.New("gateway: the signature is not the gateway's")
	ErrStale  = errors.New("gateway: the delivery is too old, or too far ahead")
)

// APIError is an answer that is an error. Branch on Code; Message may change.
type APIError struct {
	Status int
	// Code is `code` of the payment API and of non-custodial payouts, `kind` of mass payouts.
	Code    string
	Message string
	// Details has more for a program, with some errors of payouts.
	Details json.RawMessage
	// RetryAfter is the time to wait before the next request; 0 if the answer does not say.
	RetryAfter time.Duration
}

func (e *APIError) Error() string { return fmt.Sprintf("gateway: %s: %s", e.Code, e.Message) }

// Unwrap returns the kind: errors.Is(err, gateway.ErrNotFound).
func (e *APIError) Unwrap() error {
	switch {
	case e.Code == "QUOTA_EXCEEDED":
		return ErrQuota
	case e.Status == 429:
		return ErrRateLimit
	case e.Status == 400 || e.Status == 413 || e.Status == 422:
		return ErrInvalidRequest
	case e.Status == 401:
		return ErrAuthentication
	case e.Status == 403:
		return ErrPermission
	case e.Status == 404:
		return ErrNotFound
	case e.Status == 409:
		return ErrConflict
	}
	return ErrServer
}

// ConnectionError says that no answer came, in all attempts. What was asked for may have happened.
type ConnectionError struct {
	// IdempotencyKey repeats a create so that it happens once.
	IdempotencyKey string
	Cause          error
}

func (e *ConnectionError) Error() string { return "gateway: no answer: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Cause }

type problem struct {
	Code    string          `json:"code"`
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// refusal reads the three envelopes of the API, or something else that a proxy answered.
func refusal(status int, text []byte, retryAfter time.Duration) *APIError {
	var body struct {
		problem
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(text, &body)
	var inner problem
	// In the buyer's status `error` is a text beside the code.
	if json.Unmarshal(body.Error, &inner) != nil {
		inner = body.problem
	}
	failure := &APIError{Status: status, Code: inner.Kind, Message: inner.Message, Details: inner.Details, RetryAfter: retryAfter}
	if failure.Code == "" {
		failure.Code = inner.Code
	}
	if failure.Code == "" {
		failure.Code = "INTERNAL_ERROR"
	}
	if failure.Message == "" {
		failure.Message = fmt.Sprintf("HTTP %d", status)
	}
	return failure
}
