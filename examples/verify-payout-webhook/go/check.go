// Prints the result of VerifyPayoutWebhook for each recorded delivery: go run . recorded.json
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
	remember := func(eventID string) (bool, error) {
		isNew := !seen[eventID]
		seen[eventID] = true
		return isNew, nil
	}
	for _, delivery := range recorded.Deliveries {
		now := time.Unix(delivery.ReceivedAt, 0)
		event, err := VerifyPayoutWebhook([]byte(delivery.Body), delivery.Signature, recorded.Secret, now, remember)
		switch {
		case err == nil:
			fmt.Printf("%s: accepted %s %s\n", delivery.Name, event.EventType, event.Order.State)
		case errors.Is(err, ErrPayoutForged), errors.Is(err, ErrPayoutStale), errors.Is(err, ErrPayoutDuplicate):
			fmt.Printf("%s: %v\n", delivery.Name, err)
		default:
			log.Fatal(err)
		}
	}
}
