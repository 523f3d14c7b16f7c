// Package answer turns errors into what a policy returns when it neither defines nor proposes.
package answer

import (
	"fmt"

	wit "go.bytecodealliance.org/pkg/wit/types"

	"policy/bindings/tenure_ipam_types"
)

// Refusal is an error that the host understands. Any other error is told as it is.
type Refusal struct{ tenure_ipam_types.Refusal }

func (refusal Refusal) Error() string { return fmt.Sprint(refusal.Refusal) }

// ConfigError is an error about a key of the configuration.
type ConfigError struct{ tenure_ipam_types.ConfigError }

func (wrong ConfigError) Error() string { return wrong.Path + ": " + wrong.Message }

// Exhausted says that nothing is free.
func Exhausted(format string, values ...any) error {
	return Refusal{tenure_ipam_types.MakeRefusalExhausted(reason(format, values...))}
}

// Defined is the answer of Define as the host reads it. An error that is no ConfigError is about the whole configuration.
func Defined[T any](value T, err error) wit.Result[T, tenure_ipam_types.ConfigError] {
	switch err := err.(type) {
	case nil:
		return wit.Ok[T, tenure_ipam_types.ConfigError](value)
	case ConfigError:
		return wit.Err[T](err.ConfigError)
	default:
		return wit.Err[T](tenure_ipam_types.ConfigError{Message: err.Error()})
	}
}

// Proposed is the answer of Propose as the host reads it.
func Proposed[T any](value T, err error) wit.Result[T, tenure_ipam_types.Refusal] {
	switch err := err.(type) {
	case nil:
		return wit.Ok[T, tenure_ipam_types.Refusal](value)
	case Refusal:
		return wit.Err[T](err.Refusal)
	case ConfigError:
		return wit.Err[T](tenure_ipam_types.MakeRefusalInvalidConfig(err.ConfigError))
	default:
		return wit.Err[T](tenure_ipam_types.MakeRefusalOther(reason("%v", err)))
	}
}

func reason(format string, values ...any) tenure_ipam_types.Reason {
	return tenure_ipam_types.Reason{Message: fmt.Sprintf(format, values...)}
}
