// Claims addresses of a network by name, and prints them whenever they change: agent SOCKET NETWORK NAME...
// With AGENT_SCOPE in its environment, it is one of several components, and AGENT_FROM_SCOPE is the scope that it had before.
package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"tenure/agent"
	"tenure/agent/tenurev1"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: agent SOCKET NETWORK NAME...")
		os.Exit(2)
	}
	var claims []*tenurev1.ClaimSpec
	for _, name := range os.Args[3:] {
		claims = append(claims, agent.Claim(os.Args[2], name))
	}
	component := agent.Component{Scope: os.Getenv("AGENT_SCOPE")}
	if from, moves := os.LookupEnv("AGENT_FROM_SCOPE"); moves {
		component.FromScope = &from
	}
	for known := range agent.StartAs(context.Background(), component, os.Args[1], claims...).News() {
		fmt.Println(line(known))
	}
}

// line is "current router=10.1.0.2/24", or "away" with what is known from before and the problem.
func line(known agent.Known) string {
	words := []string{"away"}
	if known.IsCurrent {
		words[0] = "current"
	}
	ids := slices.SortedFunc(maps.Keys(known.Claims), func(a, b agent.ID) int { return cmp.Compare(a.Name, b.Name) })
	for _, id := range ids {
		var addresses []string
		for _, address := range known.Claims[id].Addresses {
			addresses = append(addresses, address.Address)
		}
		words = append(words, id.Name+"="+strings.Join(addresses, ","))
	}
	if known.Problem != nil {
		words = append(words, fmt.Sprintf("(%v)", known.Problem))
	}
	return strings.Join(words, " ")
}
