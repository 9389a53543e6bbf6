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
	remember := func(eventID string) (bool, error) {
		isNew := !seen[eventID]
		seen[eventID] = true
		return isNew, nil
	}
	for _, delivery := range recorded.Deliveries {
		now := time.Unix(delivery.ReceivedAt, 0)
		event, err := VerifyIPN([]byte(delivery.Body), delivery.Signature, recorded.Secret, now, remember)
		switch {
		case err == nil:
			fmt.Printf("%s: accepted %s\n", delivery.Name, event.PaymentStatus)
		case errors.Is(err, ErrForged), errors.Is(err, ErrStale), errors.Is(err, ErrDuplicate):
			fmt.Printf("%s: %v\n", delivery.Name, err)
		default:
			log.Fatal(err)
		}
	}
}
