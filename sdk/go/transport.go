package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Version of this library.
const Version = "0.1.0"

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 8 * time.Second
	// Reading a long list may wait for the next minute's requests.
	patient = 90 * time.Second
)

// Options of a client. The zero value of each means its default.
type Options struct {
	// Timeout of one attempt: 30 seconds.
	Timeout time.Duration
	// RetryFor is the time after which a call is not attempted again: 60 seconds.
	RetryFor time.Duration
	// MaxWait is how much Retry-After a call may spend waiting: 5 seconds. Negative: none.
	MaxWait time.Duration
	// Transport instead of http.DefaultTransport.
	Transport http.RoundTripper
}

// apiKey is not printed.
type apiKey string

func (apiKey) String() string   { return "(an API key)" }
func (apiKey) GoString() string { return "(an API key)" }

type transport struct {
	base                       string
	key                        apiKey
	timeout, retryFor, maxWait time.Duration
	http                       *http.Client
}

func newTransport(baseURL, key string, options Options) (*transport, error) {
	if !strings.HasPrefix(baseURL, "http://") && !strings.HasPrefix(baseURL, "https://") {
		return nil, fmt.Errorf("%w: baseURL is the gateway's address, like https://pay.example", ErrArgument)
	}
	or := func(given, usual time.Duration) time.Duration {
		if given == 0 {
			return usual
		}
		return given
	}
	return &transport{
		base: strings.TrimRight(baseURL, "/"), key: apiKey(key),
		timeout: or(options.Timeout, 30*time.Second), retryFor: or(options.RetryFor, time.Minute),
		maxWait: or(options.MaxWait, 5*time.Second),
		http: &http.Client{
			Transport: options.Transport,
			// A redirect would carry the key to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

type request struct {
	method, path   string
	query          url.Values
	body           []byte
	contentType    string
	idempotencyKey string
	maxWait        time.Duration
}

// send repeats the request until it is answered. Every request of this library can be sent twice.
func (t *transport) send(ctx context.Context, r request, into any) error {
	mayWait, deadline := t.maxWait, time.Now().Add(t.retryFor)
	if r.maxWait != 0 {
		mayWait = r.maxWait
	}
	pause := firstPause
	for {
		err := t.attempt(ctx, r, time.Until(deadline), into)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rest := pause/2 + below(pause/2)
		var refused *APIError
		if errors.As(err, &refused) {
			isLimit := errors.Is(err, ErrRateLimit)
			if refused.Status < 500 && !isLimit {
				return err
			}
			if refused.RetryAfter > 0 {
				if refused.RetryAfter > mayWait {
					return err
				}
				// Waiting as asked is no failed attempt: it does not use up the time for those.
				mayWait -= refused.RetryAfter
				deadline = deadline.Add(refused.RetryAfter)
				if refused.RetryAfter > rest {
					rest = refused.RetryAfter
				}
			} else if isLimit {
				return err
			}
		}
		if time.Now().Add(rest).After(deadline) {
			return err
		}
		if err := sleep(ctx, rest); err != nil {
			return err
		}
		if pause *= 2; pause > longestPause {
			pause = longestPause
		}
	}
}

func (t *transport) attempt(ctx context.Context, r request, left time.Duration, into any) error {
	if left > t.timeout {
		left = t.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	target := t.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	asked, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("%w: %v", ErrArgument, err)
	}
	asked.Header.Set("User-Agent", "gateway-sdk-go/"+Version)
	if t.key != "" {
		asked.Header.Set("X-Api-Key", string(t.key))
	}
	if r.body != nil {
		asked.Header.Set("Content-Type", r.contentType)
	}
	if r.idempotencyKey != "" {
		asked.Header.Set("Idempotency-Key", r.idempotencyKey)
	}
	answer, err := t.http.Do(asked)
	if err != nil {
		return &ConnectionError{r.idempotencyKey, err}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return &ConnectionError{r.idempotencyKey, err}
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		// Whole seconds; the gateway sends no dates.
		seconds, _ := strconv.ParseUint(strings.TrimSpace(answer.Header.Get("Retry-After")), 10, 31)
		return refusal(answer.StatusCode, text, time.Duration(seconds)*time.Second)
	}
	if whole, ok := into.(*string); ok {
		*whole = string(text)
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &ConnectionError{r.idempotencyKey, err}
	}
	return nil
}

func (t *transport) get(ctx context.Context, path string, query url.Values, into any) error {
	return t.send(ctx, request{method: http.MethodGet, path: path, query: query}, into)
}

// post sends body as JSON; nil sends none.
func (t *transport) post(ctx context.Context, path string, body any, key string, into any) error {
	r := request{method: http.MethodPost, path: path, contentType: "application/json", idempotencyKey: key}
	if body != nil {
		text, err := marshalled(body)
		if err != nil {
			return err
		}
		r.body = text
	}
	return t.send(ctx, r, into)
}

func marshalled(body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrArgument, err)
	}
	return text, nil
}

func sleep(ctx context.Context, time_ time.Duration) error {
	timer := time.NewTimer(time_)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func below(limit time.Duration) time.Duration {
	number, err := rand.Int(rand.Reader, big.NewInt(int64(limit)))
	if err != nil {
		return 0
	}
	return time.Duration(number.Int64())
}

// keyOr returns the given idempotency key, or a random one.
func keyOr(options []CreateOption) string {
	var chosen createOptions
	for _, option := range options {
		option(&chosen)
	}
	if chosen.key != "" {
		return chosen.key
	}
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic("gateway: the system has no randomness: " + err.Error())
	}
	return fmt.Sprintf("%x", bytes)
}

// CreateOption changes one create.
type CreateOption func(*createOptions)

type createOptions struct{ key string }

// WithIdempotencyKey names the key: the order's for example, to be safe over restarts too.
func WithIdempotencyKey(key string) CreateOption {
	return func(options *createOptions) { options.key = key }
}

// segment is an id as one part of a path; an order_id may hold anything.
func segment(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%w: an id is not empty", ErrArgument)
	}
	return url.PathEscape(id), nil
}

// Page is one page of a list. Pages are counted from 0.
type Page[T any] struct {
	Data       []T   `json:"data"`
	Limit      int64 `json:"limit"`
	Page       int64 `json:"page"`
	PagesCount int64 `json:"pagesCount"`
	Total      int64 `json:"total"`
}

// Each is an iterator: from Go 1.23 on, `for item, err := range client.Payments.Each(ctx)`. It ends
// after an error.
type Each[T any] func(yield func(T, error) bool)

// each reads all pages. New items move others onto the next page while it is read, so those of the
// page before are left out when they come again.
func each[T any](t *transport, ctx context.Context, path string, query url.Values, id func(T) string) Each[T] {
	return func(yield func(T, error) bool) {
		before := map[string]bool{}
		for page := int64(0); ; page++ {
			query.Set("page", strconv.FormatInt(page, 10))
			var found Page[T]
			r := request{method: http.MethodGet, path: path, query: query, maxWait: patient}
			if err := t.send(ctx, r, &found); err != nil {
				var none T
				yield(none, err)
				return
			}
			ids := map[string]bool{}
			for _, item := range found.Data {
				ids[id(item)] = true
				if !before[id(item)] && !yield(item, nil) {
					return
				}
			}
			if len(found.Data) == 0 || page+1 >= found.PagesCount {
				return
			}
			before = ids
		}
	}
}
