package gateway

import (
	"encoding/json"
	"errors"
	"math/big"
)

// Amount is an exact decimal, such as "25.10". It is written as a JSON number with these digits.
type Amount string

var errNoAmount = errors.New(`gateway: an amount is a decimal, like "25.10"`)

func (amount Amount) isDecimal() bool {
	digits, points := 0, 0
	for at, letter := range amount {
		switch {
		case letter >= '0' && letter <= '9':
			digits++
		case letter == '.' && at > 0 && at < len(amount)-1:
			points++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1
}

// Rat is the amount as a number to compute with.
func (amount Amount) Rat() (*big.Rat, error) {
	if !amount.isDecimal() {
		return nil, errNoAmount
	}
	number, _ := new(big.Rat).SetString(string(amount))
	return number, nil
}

// MarshalJSON writes the digits.
func (amount Amount) MarshalJSON() ([]byte, error) {
	if !amount.isDecimal() {
		return nil, errNoAmount
	}
	return []byte(amount), nil
}

// UnmarshalJSON keeps the digits that were sent, as a number or as text.
func (amount *Amount) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(amount))
	}
	var number json.Number
	if err := json.Unmarshal(text, &number); err != nil {
		return err
	}
	if number != "" {
		*amount = Amount(number)
	}
	return nil
}
