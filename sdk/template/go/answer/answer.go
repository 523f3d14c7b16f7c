// Package answer has what a policy returns when it does not propose: a refusal, as an error.
package answer

import (
	"fmt"

	wit "go.bytecodealliance.org/pkg/wit/types"

	"policy/bindings/tenure_ipam_types"
)

// Refusal is an error that the host understands. Any other error is told as it is.
type Refusal struct{ tenure_ipam_types.Refusal }

func (refusal Refusal) Error() string { return fmt.Sprint(refusal.Refusal) }

// Exhausted says that nothing is free.
func Exhausted(format string, values ...any) error {
	return Refusal{tenure_ipam_types.MakeRefusalExhausted(reason(format, values...))}
}

// Of is a function's answer as the host reads it.
func Of[T any](value T, err error) wit.Result[T, tenure_ipam_types.Refusal] {
	switch err := err.(type) {
	case nil:
		return wit.Ok[T, tenure_ipam_types.Refusal](value)
	case Refusal:
		return wit.Err[T](err.Refusal)
	default:
		return wit.Err[T](tenure_ipam_types.MakeRefusalOther(reason("%v", err)))
	}
}

func reason(format string, values ...any) tenure_ipam_types.Reason {
	return tenure_ipam_types.Reason{Message: fmt.Sprintf(format, values...)}
}
