package export_tenure_ipam_network

import (
	wit "go.bytecodealliance.org/pkg/wit/types"

	"policy/answer"
	. "policy/bindings/tenure_ipam_types"
	"policy/rule"
)

func Define(config Config) wit.Result[Definition, ConfigError] {
	return answer.Defined(rule.Define(config))
}
