package agent

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// domain is the ErrorInfo.domain of the daemon's own errors.
const domain = "tenure"

// Problem is why something failed.
type Problem struct {
	// Code is the kind of the failure. PermissionDenied is for whoever operates the node, Unavailable passes.
	Code codes.Code
	// Reason is the stable name of the error, such as "claim-denied"; empty if it is not the daemon's own.
	Reason string
	// Cause is the cause, for people.
	Cause string
	// NextStep is what to do about it; may be empty.
	NextStep string
}

func (problem *Problem) Error() string {
	var text strings.Builder
	if problem.Reason != "" {
		text.WriteString(problem.Reason + ": ")
	}
	text.WriteString(problem.Cause)
	if problem.NextStep != "" {
		text.WriteString("; " + problem.NextStep)
	}
	return text.String()
}

// problemOf reads the error of a call.
func problemOf(err error) *Problem {
	told := status.Convert(err)
	problem := &Problem{Code: told.Code(), Cause: told.Message()}
	for _, detail := range told.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Domain == domain {
			problem.Reason, problem.NextStep = info.Reason, info.Metadata["next_step"]
		}
	}
	return problem
}
