package agent

import (
	"maps"

	"tenure/agent/tenurev1"
)

// ID identifies one of an agent's claims.
type ID struct{ Network, Name string }

// Known is what an agent knows about its claims: what the daemon said last.
type Known struct {
	// Claims are the claims. While the daemon is away they are what it said last, and still the agent's. Do not change them.
	Claims map[ID]*tenurev1.Claim
	// IsCurrent says whether the daemon is there, and the claims are what was declared.
	IsCurrent bool
	// Problem says why they are not; nil also while the answer to a declaration is awaited.
	Problem *Problem
}

// Claim returns a claim; nil if the agent does not have it, or not yet.
func (known Known) Claim(network, name string) *tenurev1.Claim {
	return known.Claims[ID{network, name}]
}

// heard is what is known after the daemon has said something. The value before it may have been given away, so it is not changed.
func (known Known) heard(response *tenurev1.WatchClaimsResponse) Known {
	claims := map[ID]*tenurev1.Claim{}
	if !response.IsAll {
		maps.Copy(claims, known.Claims)
	}
	for _, ended := range response.Ended {
		delete(claims, idOf(ended.Claim))
	}
	// What was released and claimed again in the meantime is there.
	routes := map[string][]*tenurev1.ClaimRoute{}
	for _, of := range response.Routes {
		routes[of.Network] = of.Routes
	}
	for _, claim := range response.Claims {
		if of, apart := routes[claim.Network]; apart {
			claim.Routes = of
		}
		claims[ID{claim.Network, claim.Name}] = claim
	}
	return Known{Claims: claims, IsCurrent: true}
}

// doubted is what is known when it may no longer be so.
func (known Known) doubted(problem *Problem) Known {
	return Known{Claims: known.Claims, Problem: problem}
}

func idOf(id *tenurev1.ClaimId) ID {
	return ID{id.GetNetwork(), id.GetName()}
}
