// Prints the result of VerifyIPN for each recorded delivery: go run . recorded.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"
)

type recording struct {
	Secret     string
	Deliveries []struct {
		Name       string
		Body       string
		Signature  string
		ReceivedAt int64 `json:"received_at"`
	}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var recorded recording
	if err := json.Unmarshal(text, &recorded); err != nil {
		log.Fatal(err)
	}
	seen := map[string]bool{}
	remember := func(key string) (bool, error) {
		isNew := !seen[key]
		seen[key] = true
		return isNew, nil
	}
	for _, delivery := range recorded.Deliveries {
		now := time.Unix(delivery.ReceivedAt, 0)
		verified, err := VerifyIPN([]byte(delivery.Body), delivery.Signature, recorded.Secret, now, remember)
		switch {
		case err == nil && verified.Notice != nil:
			notice := verified.Notice
			fmt.Printf("%s: notice %s %s\n", delivery.Name, notice.Gateway.Notice.Type, notice.PaymentStatus)
		case err == nil && verified.Renewal != nil:
			renewal := verified.Renewal
			fmt.Printf("%s: renewal %d %s\n", delivery.Name, renewal.Gateway.Renewal.DayOffset, renewal.PaymentStatus)
		case err == nil:
			fmt.Printf("%s: accepted %s\n", delivery.Name, verified.Payment.PaymentStatus)
		case errors.Is(err, ErrForged), errors.Is(err, ErrStale), errors.Is(err, ErrDuplicate):
			fmt.Printf("%s: %v\n", delivery.Name, err)
		default:
			log.Fatal(err)
		}
	}
}
