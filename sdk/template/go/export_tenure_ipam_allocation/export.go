package export_tenure_ipam_allocation

import (
	wit "go.bytecodealliance.org/pkg/wit/types"

	"policy/answer"
	. "policy/bindings/tenure_ipam_types"
	"policy/rule"
)

func Propose(request Request) wit.Result[Proposal, Refusal] {
	return answer.Proposed(rule.Propose(request))
}
