// The protocol between agents on the node, which need addresses of their own, and the daemon. Served on agent/agent.sock.
//
// The daemon knows an agent by the credentials of its connection and `[agents.NAME]` in tenured.toml. An agent sees, changes
// and releases its own claims only. A failure is a gRPC status with a google.rpc.ErrorInfo detail: its domain is "tenure", its
// reason the error's stable name, and its metadata has "next_step". Fields are only ever added.
//
// Limits of an agent: 128 connections with 128 requests open on each; 256 calls at a time, of which 64 work while the others queue for their
// turn; besides these, 256 calls that wait for a network, which keep no other call from working and queue again when it comes; 256 watches;
// 64 health watches and reflection streams. A request has at most 16 KiB, or 1 MiB for Declare, and has to arrive within 10 seconds. What
// exceeds a number is refused as "overloaded" (RESOURCE_EXHAUSTED): wait, and try again. What is too long, or cannot be decoded, is refused
// as "malformed-request" (INVALID_ARGUMENT). An answer that is not read keeps its connection from asking for more.
//
// Rights are those of the configuration in force: a reload ends the watches of a user that is no longer the agent ("agent-unknown"), and what a
// call waits for is refused as soon as its agent may no longer have it.
//
// Names consist of ASCII letters, digits, '_', '.' and '-', and begin with a letter or a digit. A network's has at most 255 characters, a
// claim's and a holder's 128, a scope's 64. A claim asks for at most 64 addresses. `claims` in `[agents.NAME]` limits an agent's claims, in all of
// its scopes together.
//
// Reasons that an agent may meet, each with its gRPC code and whether to ask again. A reason that is not here is to be treated by its code:
// UNAVAILABLE, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED and ABORTED pass; wait, at first 100 ms and then longer, up to 10 s.
//
//   claim-invalid           INVALID_ARGUMENT     no: correct the request
//   malformed-request       INVALID_ARGUMENT     no: correct the client
//   agent-unknown           PERMISSION_DENIED    no: the operator admits agents
//   claim-denied            PERMISSION_DENIED    no: the operator's configuration does not allow it
//   request-denied          PERMISSION_DENIED    no: a rule of the network's policy does not allow it
//   unknown-network         NOT_FOUND            yes: the network does not exist yet; wait_ms waits for it
//   claim-differs           FAILED_PRECONDITION  no: release the claim first
//   claim-of-another-scope  FAILED_PRECONDITION  no: another component has the claim
//   claim-superseded        FAILED_PRECONDITION  no: a successor uses the claim
//   address-unavailable     FAILED_PRECONDITION  no: the requested address or family is not to be had
//   policy-refused          FAILED_PRECONDITION  no: the network's policy refuses this request
//   policy-unloadable       FAILED_PRECONDITION  yes, seldom: the operator has to act
//   not-taken-over          FAILED_PRECONDITION  yes, seldom: another IPAM's addresses have to be imported
//   out-of-bounds           FAILED_PRECONDITION  yes, seldom: the operator has to act
//   pool-exhausted          RESOURCE_EXHAUSTED   yes: no address is free at present
//   over-quota              RESOURCE_EXHAUSTED   yes, seldom: the agent has as much as the network's policy allows
//   overloaded              RESOURCE_EXHAUSTED   yes: too many calls at once
//   disk-full               RESOURCE_EXHAUSTED   yes: the node's disk is full
//   superseded              ABORTED              yes: an operator released the claim while it was made
//   deadline-exceeded       DEADLINE_EXCEEDED    yes
//   not-ready               UNAVAILABLE          yes: the daemon waits for something, or the node's state is lost; keep the addresses
//   preparing               UNAVAILABLE          yes: the network's policy is still being compiled or checked, or the network is being defined
//   stopping                UNAVAILABLE          yes: the daemon is being stopped, or restarted
//   not-yet                 UNAVAILABLE          yes: more addresses have been requested
//   policy-benched          UNAVAILABLE          yes: the network's policy keeps failing for this agent
//   delegate-unavailable    UNAVAILABLE          yes: the network's delegate does not answer
//   checkpoint-failed       UNAVAILABLE          yes: what was answered so is not durable
//   policy-failed           INTERNAL             yes, seldom: the operator has to act
//   proposal-rejected       INTERNAL             yes, seldom: the operator has to act
//   state-not-migrated      INTERNAL             yes, seldom: the operator has to act
//   delegate-failed         INTERNAL             yes, seldom: the operator has to act
//   delegate-rejected       INTERNAL             yes, seldom: the operator has to act
//   internal                INTERNAL             yes, seldom: a bug in the daemon
//   unknown-method          UNIMPLEMENTED        no: the daemon is older than the client
//
// Scopes: an agent may consist of several components that share its user. Each names a scope in its requests, and Declare, Release, List and
// Watch are then about that scope's claims. A claim belongs to the scope that made it; its name is unique within the agent and network, whatever
// the scope. A request that names no scope is about the claims that have none: a component that names none still releases, by its declaration,
// every claim without a scope that another component of the same user has made. The way out is a scope for each component; one that has a scope
// is safe from those that have none. Set from_scope to "" once, to take claims along.
// A daemon from before scopes ignores them; the claims that it answers with have none.

// Code generated by protoc-gen-go-grpc. DO NOT EDIT.
// versions:
// - protoc-gen-go-grpc v1.6.2
// - protoc             (unknown)
// source: tenure/v1/claims.proto

package tenurev1

import (
	context "context"
	grpc "google.golang.org/grpc"
	codes "google.golang.org/grpc/codes"
	status "google.golang.org/grpc/status"
)

// This is a compile-time assertion to ensure that this generated file
// is compatible with the grpc package it is being compiled against.
// Requires gRPC-Go v1.64.0 or later.
const _ = grpc.SupportPackageIsVersion9

const (
	Claims_Ensure_FullMethodName  = "/tenure.v1.Claims/Ensure"
	Claims_Declare_FullMethodName = "/tenure.v1.Claims/Declare"
	Claims_Release_FullMethodName = "/tenure.v1.Claims/Release"
	Claims_List_FullMethodName    = "/tenure.v1.Claims/List"
	Claims_Watch_FullMethodName   = "/tenure.v1.Claims/Watch"
)

// ClaimsClient is the client API for Claims service.
//
// For semantics around ctx use and closing/ending streaming RPCs, please refer to https://pkg.go.dev/google.golang.org/grpc/?tab=doc#ClientConn.NewStream.
//
// An agent's claims: addresses that stay with it until it releases them, whatever restarts in between.
type ClaimsClient interface {
	// Makes a claim, or returns the one that exists. A repeated call returns the same addresses.
	Ensure(ctx context.Context, in *EnsureClaimRequest, opts ...grpc.CallOption) (*EnsureClaimResponse, error)
	// Brings all claims of the agent's scope in line with a list: what is missing is made, what is not in the list is released. Up to 32
	// changes become durable in one step: all of them, or nothing. More are decided on as a whole, so that what is refused is refused before
	// anything happens, and then carried out some at a time, so that pods are served meanwhile; each claim is made or released whole. If the
	// network changes meanwhile, the disk fails, the caller goes away or the daemon is killed, part of it is done; the failure says "in part",
	// and the same call again completes it: it keeps what is as declared.
	Declare(ctx context.Context, in *DeclareClaimsRequest, opts ...grpc.CallOption) (*DeclareClaimsResponse, error)
	// Releases a claim. Succeeds if there is none.
	Release(ctx context.Context, in *ReleaseClaimRequest, opts ...grpc.CallOption) (*ReleaseClaimResponse, error)
	// The agent's claims.
	List(ctx context.Context, in *ListClaimsRequest, opts ...grpc.CallOption) (*ListClaimsResponse, error)
	// The agent's claims, and then every change of them. A reader that leaves responses unread until the daemon cannot deliver another one for 30
	// seconds is cut off: after the responses that are on their way, the watch ends as "deadline-exceeded", and the reader resumes from its last
	// version. An open watch renews the leases of all the agent's claims, or of all those of its scope.
	Watch(ctx context.Context, in *WatchClaimsRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[WatchClaimsResponse], error)
}

type claimsClient struct {
	cc grpc.ClientConnInterface
}

func NewClaimsClient(cc grpc.ClientConnInterface) ClaimsClient {
	return &claimsClient{cc}
}

func (c *claimsClient) Ensure(ctx context.Context, in *EnsureClaimRequest, opts ...grpc.CallOption) (*EnsureClaimResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(EnsureClaimResponse)
	err := c.cc.Invoke(ctx, Claims_Ensure_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *claimsClient) Declare(ctx context.Context, in *DeclareClaimsRequest, opts ...grpc.CallOption) (*DeclareClaimsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(DeclareClaimsResponse)
	err := c.cc.Invoke(ctx, Claims_Declare_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *claimsClient) Release(ctx context.Context, in *ReleaseClaimRequest, opts ...grpc.CallOption) (*ReleaseClaimResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ReleaseClaimResponse)
	err := c.cc.Invoke(ctx, Claims_Release_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *claimsClient) List(ctx context.Context, in *ListClaimsRequest, opts ...grpc.CallOption) (*ListClaimsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ListClaimsResponse)
	err := c.cc.Invoke(ctx, Claims_List_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *claimsClient) Watch(ctx context.Context, in *WatchClaimsRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[WatchClaimsResponse], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &Claims_ServiceDesc.Streams[0], Claims_Watch_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[WatchClaimsRequest, WatchClaimsResponse]{ClientStream: stream}
	if err := x.ClientStream.SendMsg(in); err != nil {
		return nil, err
	}
	if err := x.ClientStream.CloseSend(); err != nil {
		return nil, err
	}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Claims_WatchClient = grpc.ServerStreamingClient[WatchClaimsResponse]

// ClaimsServer is the server API for Claims service.
// All implementations must embed UnimplementedClaimsServer
// for forward compatibility.
//
// An agent's claims: addresses that stay with it until it releases them, whatever restarts in between.
type ClaimsServer interface {
	// Makes a claim, or returns the one that exists. A repeated call returns the same addresses.
	Ensure(context.Context, *EnsureClaimRequest) (*EnsureClaimResponse, error)
	// Brings all claims of the agent's scope in line with a list: what is missing is made, what is not in the list is released. Up to 32
	// changes become durable in one step: all of them, or nothing. More are decided on as a whole, so that what is refused is refused before
	// anything happens, and then carried out some at a time, so that pods are served meanwhile; each claim is made or released whole. If the
	// network changes meanwhile, the disk fails, the caller goes away or the daemon is killed, part of it is done; the failure says "in part",
	// and the same call again completes it: it keeps what is as declared.
	Declare(context.Context, *DeclareClaimsRequest) (*DeclareClaimsResponse, error)
	// Releases a claim. Succeeds if there is none.
	Release(context.Context, *ReleaseClaimRequest) (*ReleaseClaimResponse, error)
	// The agent's claims.
	List(context.Context, *ListClaimsRequest) (*ListClaimsResponse, error)
	// The agent's claims, and then every change of them. A reader that leaves responses unread until the daemon cannot deliver another one for 30
	// seconds is cut off: after the responses that are on their way, the watch ends as "deadline-exceeded", and the reader resumes from its last
	// version. An open watch renews the leases of all the agent's claims, or of all those of its scope.
	Watch(*WatchClaimsRequest, grpc.ServerStreamingServer[WatchClaimsResponse]) error
	mustEmbedUnimplementedClaimsServer()
}

// UnimplementedClaimsServer must be embedded to have
// forward compatible implementations.
//
// NOTE: this should be embedded by value instead of pointer to avoid a nil
// pointer dereference when methods are called.
type UnimplementedClaimsServer struct{}

func (UnimplementedClaimsServer) Ensure(context.Context, *EnsureClaimRequest) (*EnsureClaimResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Ensure not implemented")
}
func (UnimplementedClaimsServer) Declare(context.Context, *DeclareClaimsRequest) (*DeclareClaimsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Declare not implemented")
}
func (UnimplementedClaimsServer) Release(context.Context, *ReleaseClaimRequest) (*ReleaseClaimResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Release not implemented")
}
func (UnimplementedClaimsServer) List(context.Context, *ListClaimsRequest) (*ListClaimsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method List not implemented")
}
func (UnimplementedClaimsServer) Watch(*WatchClaimsRequest, grpc.ServerStreamingServer[WatchClaimsResponse]) error {
	return status.Error(codes.Unimplemented, "method Watch not implemented")
}
func (UnimplementedClaimsServer) mustEmbedUnimplementedClaimsServer() {}
func (UnimplementedClaimsServer) testEmbeddedByValue()                {}

// UnsafeClaimsServer may be embedded to opt out of forward compatibility for this service.
// Use of this interface is not recommended, as added methods to ClaimsServer will
// result in compilation errors.
type UnsafeClaimsServer interface {
	mustEmbedUnimplementedClaimsServer()
}

func RegisterClaimsServer(s grpc.ServiceRegistrar, srv ClaimsServer) {
	// If the following call panics, it indicates UnimplementedClaimsServer was
	// embedded by pointer and is nil.  This will cause panics if an
	// unimplemented method is ever invoked, so we test this at initialization
	// time to prevent it from happening at runtime later due to I/O.
	if t, ok := srv.(interface{ testEmbeddedByValue() }); ok {
		t.testEmbeddedByValue()
	}
	s.RegisterService(&Claims_ServiceDesc, srv)
}

func _Claims_Ensure_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(EnsureClaimRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ClaimsServer).Ensure(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Claims_Ensure_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ClaimsServer).Ensure(ctx, req.(*EnsureClaimRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Claims_Declare_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(DeclareClaimsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ClaimsServer).Declare(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Claims_Declare_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ClaimsServer).Declare(ctx, req.(*DeclareClaimsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Claims_Release_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ReleaseClaimRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ClaimsServer).Release(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Claims_Release_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ClaimsServer).Release(ctx, req.(*ReleaseClaimRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Claims_List_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ListClaimsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ClaimsServer).List(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Claims_List_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ClaimsServer).List(ctx, req.(*ListClaimsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Claims_Watch_Handler(srv interface{}, stream grpc.ServerStream) error {
	m := new(WatchClaimsRequest)
	if err := stream.RecvMsg(m); err != nil {
		return err
	}
	return srv.(ClaimsServer).Watch(m, &grpc.GenericServerStream[WatchClaimsRequest, WatchClaimsResponse]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Claims_WatchServer = grpc.ServerStreamingServer[WatchClaimsResponse]

// Claims_ServiceDesc is the grpc.ServiceDesc for Claims service.
// It's only intended for direct use with grpc.RegisterService,
// and not to be introspected or modified (even as a copy)
var Claims_ServiceDesc = grpc.ServiceDesc{
	ServiceName: "tenure.v1.Claims",
	HandlerType: (*ClaimsServer)(nil),
	Methods: []grpc.MethodDesc{
		{
			MethodName: "Ensure",
			Handler:    _Claims_Ensure_Handler,
		},
		{
			MethodName: "Declare",
			Handler:    _Claims_Declare_Handler,
		},
		{
			MethodName: "Release",
			Handler:    _Claims_Release_Handler,
		},
		{
			MethodName: "List",
			Handler:    _Claims_List_Handler,
		},
	},
	Streams: []grpc.StreamDesc{
		{
			StreamName:    "Watch",
			Handler:       _Claims_Watch_Handler,
			ServerStreams: true,
		},
	},
	Metadata: "tenure/v1/claims.proto",
}
