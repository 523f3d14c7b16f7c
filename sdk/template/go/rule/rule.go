// Package rule assigns the next free address of each pool in turn.
package rule

import (
	"strconv"

	"policy/answer"
	"policy/bindings/tenure_ipam_configuration"
	"policy/bindings/tenure_ipam_ledger"
	. "policy/bindings/tenure_ipam_types"
)

// Define makes a pool of each range set in the network's configuration.
func Define(config Config) (Definition, error) {
	sets := tenure_ipam_configuration.Ranges("ipam")
	if sets.IsErr() {
		return Definition{}, answer.ConfigError{ConfigError: sets.Err()}
	}
	definition := Definition{Cooling: MakeCoolingPreferred()}
	for index, ranges := range sets.Ok() {
		definition.Pools = append(definition.Pools, PoolDefinition{
			Name: strconv.Itoa(index), Supply: MakeSupplyConfiguration(), Need: MakeNeedAlways(), Ranges: ranges,
		})
	}
	return definition, nil
}

// Propose takes the next free address of each pool; if none is free, the one that has been cooling down longest.
func Propose(request Request) (Proposal, error) {
	proposal := Proposal{}
	for index, pool := range tenure_ipam_ledger.Pools() {
		all, index := []Attribute{}, uint32(index)
		last := tenure_ipam_ledger.Last(index, all)
		found := tenure_ipam_ledger.Free(index, all, last, tenure_ipam_ledger.MakeDirectionAscending(), 1)
		if len(found) == 0 {
			found = tenure_ipam_ledger.Cooling(index, all, 1)
		}
		if len(found) == 0 {
			return proposal, answer.Exhausted("no address is free in pool %s", pool.Name)
		}
		proposal.Assignments = append(proposal.Assignments, Assignment{Pool: index, Address: found[0]})
	}
	return proposal, nil
}
