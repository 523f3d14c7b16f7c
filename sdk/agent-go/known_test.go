package agent

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tenure/agent/tenurev1"
)

func claim(name string, generation uint64) *tenurev1.Claim {
	return &tenurev1.Claim{Network: "pods", Name: name, Generation: generation}
}

func ended(name string) *tenurev1.EndedClaim {
	return &tenurev1.EndedClaim{Claim: &tenurev1.ClaimId{Network: "pods", Name: name}, Reason: "operator: a test"}
}

func TestAFirstResponseIsEverythingAndLaterOnesAreChanges(t *testing.T) {
	first := Known{}.heard(&tenurev1.WatchClaimsResponse{IsAll: true, Claims: []*tenurev1.Claim{claim("router", 1), claim("health", 2)}})
	next := first.heard(&tenurev1.WatchClaimsResponse{Claims: []*tenurev1.Claim{claim("router", 4)}, Ended: []*tenurev1.EndedClaim{ended("health"), ended("router")}})
	if len(first.Claims) != 2 || len(next.Claims) != 1 || next.Claim("pods", "router").Generation != 4 {
		t.Fatal(first, next)
	}
	away := next.doubted(&Problem{Cause: "gone"})
	if away.IsCurrent || away.Claim("pods", "router") == nil || away.Claim("lan", "router") != nil {
		t.Fatal(away)
	}
	if again := away.heard(&tenurev1.WatchClaimsResponse{}); !again.IsCurrent || again.Problem != nil {
		t.Fatal(again)
	}
}

func TestADeclaredClaimThatIsNotThereIsMissed(t *testing.T) {
	wanted := []*tenurev1.ClaimSpec{Claim("pods", "router"), Claim("pods", "health")}
	known := Known{}.heard(&tenurev1.WatchClaimsResponse{IsAll: true, Claims: []*tenurev1.Claim{claim("router", 1), claim("health", 2)}})
	if problem := gone(known, wanted, nil); problem != nil {
		t.Fatal(problem)
	}
	// Released between its declaration and the watch, and during the watch.
	late := known.heard(&tenurev1.WatchClaimsResponse{IsAll: true, Claims: []*tenurev1.Claim{claim("router", 1)}})
	if problem := gone(late, wanted, nil); problem == nil || problem.Error() != "claim health of network pods was released" {
		t.Fatal(problem)
	}
	told := []*tenurev1.EndedClaim{ended("health")}
	after := known.heard(&tenurev1.WatchClaimsResponse{Ended: told})
	if problem := gone(after, wanted, told); problem == nil || problem.Error() != "claim health of network pods was released: operator: a test" {
		t.Fatal(problem)
	}
}

func TestTheDaemonsErrorsHaveANameAndANextStep(t *testing.T) {
	of := func(domain string) string {
		info := &errdetails.ErrorInfo{Reason: "claim-denied", Domain: domain, Metadata: map[string]string{"next_step": "ask the operator"}}
		told, err := status.New(codes.PermissionDenied, "no").WithDetails(info)
		if err != nil {
			t.Fatal(err)
		}
		return problemOf(told.Err()).Error()
	}
	if ours, other := of("tenure"), of("other"); ours != "claim-denied: no; ask the operator" || other != "no" {
		t.Fatal(ours, other)
	}
}
