// Package agent is the client of tenure for programs that need IP addresses of their own on a Kubernetes node.
//
// See the README for what an agent sees of its claims while it, the daemon and the network come and go.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"tenure/agent/tenurev1"
)

const (
	// The pause before the second attempt, and the longest one. Each pause is twice as long as the one before, and a random time of up
	// to its length is added, so that agents do not all return at once.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// The longest answer, in bytes: a thousand claims, each with the routes of its network.
	longestAnswer = 64 << 20
	// How long a declaration waits for a network that does not exist yet; then it is made again.
	networkWithin = 10 * time.Second
	// How long the daemon may take for a declaration besides.
	answerWithin = time.Minute
)

// Agent keeps a set of claims.
type Agent struct {
	component Component
	socket    string
	wake      chan struct{}
	news      chan Known
	lock      sync.Mutex
	wanted    claimSet
	known     Known
	ended     bool
}

// claimSet is a set of claims. Each one that is declared has the number after that of the one before.
type claimSet struct {
	claims []*tenurev1.ClaimSpec
	number uint64
}

// Component is the component of an agent that has a set of claims. Several components that share a user have a scope each.
type Component struct {
	// Scope is empty for an agent that is one component.
	Scope string
	// FromScope is the scope that it had before, if any: its claims move over with their addresses. An empty one stands for none.
	FromScope *string
}

// Claim is a claim of addresses of a network, under a name of the agent's choice: of those families and with those addresses that the
// network's policy chooses. The fields of a ClaimSpec ask for more.
func Claim(network, name string) *tenurev1.ClaimSpec {
	return &tenurev1.ClaimSpec{Network: network, Name: name}
}

// Start begins to keep a set of claims, until the context ends. What the agent had declared before, and is not in the set, is released.
// The end of the context ends the connection, but no claim.
func Start(ctx context.Context, socket string, claims ...*tenurev1.ClaimSpec) *Agent {
	return StartAs(ctx, Component{}, socket, claims...)
}

// StartAs is Start for one of several components: it keeps the claims of its own scope, and releases no other ones.
func StartAs(ctx context.Context, component Component, socket string, claims ...*tenurev1.ClaimSpec) *Agent {
	agent := newAgent(component, socket, claims)
	go agent.keep(ctx)
	return agent
}

func newAgent(component Component, socket string, claims []*tenurev1.ClaimSpec) *Agent {
	wanted := claimSet{claims: claims}
	return &Agent{component: component, socket: socket, wanted: wanted, wake: make(chan struct{}, 1), news: make(chan Known, 1)}
}

// Declare declares another set in place of the present one; the daemon makes it so as soon as it is there, and until then what is known is
// not current.
func (agent *Agent) Declare(claims ...*tenurev1.ClaimSpec) {
	agent.tell(func(known Known) Known {
		agent.wanted = claimSet{claims: claims, number: agent.wanted.number + 1}
		return known.doubted(nil)
	})
	select {
	case agent.wake <- struct{}{}:
	default: // It has not yet looked at the set before.
	}
}

// Known returns what is known at present.
func (agent *Agent) Known() Known {
	agent.lock.Lock()
	defer agent.lock.Unlock()
	return agent.known
}

// News delivers what is known whenever it changes, to one reader. One that is slow misses intermediate states, never the last one. The
// channel is closed once the context has ended.
func (agent *Agent) News() <-chan Known { return agent.news }

// Dial connects to the daemon's socket for agents. A connection ends when the daemon no longer responds.
func Dial(socket string) (*grpc.ClientConn, error) {
	alive := keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 20 * time.Second, PermitWithoutStream: true}
	answers := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(longestAnswer))
	return grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithKeepaliveParams(alive), answers)
}

func (agent *Agent) keep(ctx context.Context) {
	defer agent.end()
	pause := firstPause
	for ctx.Err() == nil {
		problem := agent.follow(ctx, func() { pause = firstPause })
		if ctx.Err() != nil {
			return
		}
		agent.tell(func(known Known) Known { return known.doubted(problem) })
		select {
		case <-ctx.Done():
		case <-agent.wake:
		case <-time.After(pause + rand.N(pause)):
		}
		pause = min(2*pause, longestPause)
	}
}

// end closes the channel of the news.
func (agent *Agent) end() {
	agent.lock.Lock()
	defer agent.lock.Unlock()
	agent.ended = true
	close(agent.news)
}

// follow declares and watches over one connection, until it breaks or a claim ends that is still wanted.
func (agent *Agent) follow(ctx context.Context, works func()) *Problem {
	conn, err := Dial(agent.socket)
	if err != nil {
		return problemOf(err)
	}
	defer conn.Close()
	client := tenurev1.NewClaimsClient(conn)
	for ctx.Err() == nil {
		agent.lock.Lock()
		wanted := agent.wanted
		agent.lock.Unlock()
		// Never cut short: a declaration that is on its way could overtake the next one. The watch begins behind it, so that what it
		// tells first is what was declared.
		if err := agent.declareOver(ctx, client, wanted.claims); err != nil {
			return problemOf(err)
		}
		if problem := agent.watch(ctx, client, wanted, works); problem != nil {
			return problem
		}
	}
	return nil
}

func (agent *Agent) declareOver(ctx context.Context, client tenurev1.ClaimsClient, wanted []*tenurev1.ClaimSpec) error {
	ctx, cancel := context.WithTimeout(ctx, networkWithin+answerWithin)
	defer cancel()
	request := &tenurev1.DeclareClaimsRequest{
		Claims: wanted, WaitMs: uint32(networkWithin.Milliseconds()), RoutesApart: true,
		Scope: agent.component.Scope, FromScope: agent.component.FromScope,
	}
	_, err := client.Declare(ctx, request)
	return err
}

// watch takes in what the daemon tells; nil once another set is declared.
func (agent *Agent) watch(ctx context.Context, client tenurev1.ClaimsClient, wanted claimSet, works func()) *Problem {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Watch(ctx, &tenurev1.WatchClaimsRequest{RoutesApart: true, Scope: &agent.component.Scope})
	if err != nil {
		return problemOf(err)
	}
	problems := make(chan *Problem, 1)
	go func() { problems <- agent.read(stream, wanted, works) }()
	select {
	case problem := <-problems:
		return problem
	case <-agent.wake:
		cancel()
		<-problems
		return nil
	}
}

// read takes in what the daemon tells. It says nothing about another set that was declared since.
func (agent *Agent) read(stream grpc.ServerStreamingClient[tenurev1.WatchClaimsResponse], wanted claimSet, works func()) *Problem {
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return &Problem{Code: codes.Unavailable, Cause: "the daemon has ended the watch"}
		}
		if err != nil {
			return problemOf(err)
		}
		var problem *Problem
		agent.tell(func(known Known) Known {
			known = known.heard(response)
			if agent.wanted.number != wanted.number {
				return known.doubted(nil)
			}
			if problem = gone(known, wanted.claims, response.Ended); problem != nil {
				return known.doubted(problem)
			}
			return known
		})
		if problem != nil {
			return problem
		}
		works()
	}
}

// gone says which of the declared claims the agent does not have. One that was released between its declaration and the watch is only
// missing from what the watch tells first.
func gone(known Known, wanted []*tenurev1.ClaimSpec, ended []*tenurev1.EndedClaim) *Problem {
	for _, claim := range wanted {
		id := ID{claim.Network, claim.Name}
		if known.Claims[id] != nil {
			continue
		}
		cause := fmt.Sprintf("claim %s of network %s was released", id.Name, id.Network)
		for _, ended := range ended {
			if idOf(ended.Claim) == id {
				cause += ": " + ended.Reason
			}
		}
		return &Problem{Code: codes.Unavailable, Cause: cause}
	}
	return nil
}

// tell changes what is known under the agent's lock, and replaces what its reader has not yet read.
func (agent *Agent) tell(change func(Known) Known) {
	agent.lock.Lock()
	defer agent.lock.Unlock()
	agent.known = change(agent.known)
	if agent.ended {
		return
	}
	select {
	case <-agent.news:
	default:
	}
	agent.news <- agent.known
}
