package agent

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc"

	"tenure/agent/tenurev1"
)

// stream is a watch that tells what it has, and ends.
type stream struct {
	grpc.ClientStream
	responses []*tenurev1.WatchClaimsResponse
}

func (stream *stream) Recv() (*tenurev1.WatchClaimsResponse, error) {
	if len(stream.responses) == 0 {
		return nil, io.EOF
	}
	next := stream.responses[0]
	stream.responses = stream.responses[1:]
	return next, nil
}

// Regression: what the daemon had said about the set before counted as current for the set that replaced it.
func TestASetIsCurrentOnceTheDaemonHasAnsweredForIt(t *testing.T) {
	agent := newAgent(Component{}, "", []*tenurev1.ClaimSpec{Claim("pods", "router")})
	router := agent.wanted
	tells := func(wanted claimSet, names ...string) bool {
		response := &tenurev1.WatchClaimsResponse{IsAll: true}
		for _, name := range names {
			response.Claims = append(response.Claims, claim(name, 1))
		}
		problem := agent.read(&stream{responses: []*tenurev1.WatchClaimsResponse{response}}, wanted, func() {})
		if problem.Cause != "the daemon has ended the watch" {
			t.Fatal(problem)
		}
		return agent.Known().IsCurrent
	}
	if !tells(router, "router") {
		t.Fatal("it is as declared")
	}
	agent.Declare(Claim("pods", "health"))
	if known := <-agent.News(); known.IsCurrent || agent.Known().IsCurrent {
		t.Fatal("the daemon has not heard of it")
	}
	if tells(router, "router") || tells(router) {
		t.Fatal("an answer about the set before")
	}
	if !tells(agent.wanted, "health") {
		t.Fatal("it is as declared")
	}
}

func TestADeclarationAfterTheEndIsIgnored(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	agent := newAgent(Component{}, "", nil)
	agent.keep(ended)
	agent.Declare(Claim("pods", "router"))
	if known, open := <-agent.News(); open {
		t.Fatal(known)
	}
}
