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

// Code generated by protoc-gen-go. DO NOT EDIT.
// versions:
// 	protoc-gen-go v1.36.12
// 	protoc        (unknown)
// source: tenure/v1/claims.proto

package tenurev1

import (
	protoreflect "google.golang.org/protobuf/reflect/protoreflect"
	protoimpl "google.golang.org/protobuf/runtime/protoimpl"
	reflect "reflect"
	sync "sync"
	unsafe "unsafe"
)

const (
	// Verify that this generated code is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(20 - protoimpl.MinVersion)
	// Verify that runtime/protoimpl is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(protoimpl.MaxVersion - 20)
)

// An address family.
type Family int32

const (
	Family_FAMILY_UNSPECIFIED Family = 0
	Family_FAMILY_IPV4        Family = 1
	Family_FAMILY_IPV6        Family = 2
)

// Enum value maps for Family.
var (
	Family_name = map[int32]string{
		0: "FAMILY_UNSPECIFIED",
		1: "FAMILY_IPV4",
		2: "FAMILY_IPV6",
	}
	Family_value = map[string]int32{
		"FAMILY_UNSPECIFIED": 0,
		"FAMILY_IPV4":        1,
		"FAMILY_IPV6":        2,
	}
)

func (x Family) Enum() *Family {
	p := new(Family)
	*p = x
	return p
}

func (x Family) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (Family) Descriptor() protoreflect.EnumDescriptor {
	return file_tenure_v1_claims_proto_enumTypes[0].Descriptor()
}

func (Family) Type() protoreflect.EnumType {
	return &file_tenure_v1_claims_proto_enumTypes[0]
}

func (x Family) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use Family.Descriptor instead.
func (Family) EnumDescriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{0}
}

// What an agent asks for.
type ClaimSpec struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The network, and the agent's name for the claim, which together identify it.
	Network string `protobuf:"bytes,1,opt,name=network,proto3" json:"network,omitempty"`
	Name    string `protobuf:"bytes,2,opt,name=name,proto3" json:"name,omitempty"`
	// The families that it must have an address of. Without any, it takes what the network gives.
	Families []Family `protobuf:"varint,3,rep,packed,name=families,proto3,enum=tenure.v1.Family" json:"families,omitempty"`
	// The addresses that it must have, without prefix lengths; a prefix by its first one. Without any, the network's policy chooses.
	Addresses []string `protobuf:"bytes,4,rep,name=addresses,proto3" json:"addresses,omitempty"`
	// The claim ends by itself this many seconds after the agent was last heard of. 0: it stays until it is released.
	LeaseSeconds uint32 `protobuf:"varint,5,opt,name=lease_seconds,json=leaseSeconds,proto3" json:"lease_seconds,omitempty"`
	// Families that it would like to have an address of and can do without: where the network has no pool of one, none is free, or its policy
	// gives none, the claim is made without, and its missing_families say why. That holds for policies such as host-local, too, of which every
	// other grant needs an address of each pool.
	OptionalFamilies []Family `protobuf:"varint,6,rep,packed,name=optional_families,json=optionalFamilies,proto3,enum=tenure.v1.Family" json:"optional_families,omitempty"`
	// The run of the agent that asks, such as the uid of its pod; may be empty. The last one that asked for the claim is its holder.
	Holder        string `protobuf:"bytes,7,opt,name=holder,proto3" json:"holder,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ClaimSpec) Reset() {
	*x = ClaimSpec{}
	mi := &file_tenure_v1_claims_proto_msgTypes[0]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ClaimSpec) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ClaimSpec) ProtoMessage() {}

func (x *ClaimSpec) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[0]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ClaimSpec.ProtoReflect.Descriptor instead.
func (*ClaimSpec) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{0}
}

func (x *ClaimSpec) GetNetwork() string {
	if x != nil {
		return x.Network
	}
	return ""
}

func (x *ClaimSpec) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *ClaimSpec) GetFamilies() []Family {
	if x != nil {
		return x.Families
	}
	return nil
}

func (x *ClaimSpec) GetAddresses() []string {
	if x != nil {
		return x.Addresses
	}
	return nil
}

func (x *ClaimSpec) GetLeaseSeconds() uint32 {
	if x != nil {
		return x.LeaseSeconds
	}
	return 0
}

func (x *ClaimSpec) GetOptionalFamilies() []Family {
	if x != nil {
		return x.OptionalFamilies
	}
	return nil
}

func (x *ClaimSpec) GetHolder() string {
	if x != nil {
		return x.Holder
	}
	return ""
}

type EnsureClaimRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Claim *ClaimSpec             `protobuf:"bytes,1,opt,name=claim,proto3" json:"claim,omitempty"`
	// How many milliseconds to wait for the network if it does not exist yet, at most 300,000; a shorter deadline of the call itself
	// counts as well.
	WaitMs uint32 `protobuf:"varint,2,opt,name=wait_ms,json=waitMs,proto3" json:"wait_ms,omitempty"`
	// The scope that calls, and one that it takes the claim over from, as for Declare.
	Scope         string  `protobuf:"bytes,3,opt,name=scope,proto3" json:"scope,omitempty"`
	FromScope     *string `protobuf:"bytes,4,opt,name=from_scope,json=fromScope,proto3,oneof" json:"from_scope,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *EnsureClaimRequest) Reset() {
	*x = EnsureClaimRequest{}
	mi := &file_tenure_v1_claims_proto_msgTypes[1]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *EnsureClaimRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*EnsureClaimRequest) ProtoMessage() {}

func (x *EnsureClaimRequest) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[1]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use EnsureClaimRequest.ProtoReflect.Descriptor instead.
func (*EnsureClaimRequest) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{1}
}

func (x *EnsureClaimRequest) GetClaim() *ClaimSpec {
	if x != nil {
		return x.Claim
	}
	return nil
}

func (x *EnsureClaimRequest) GetWaitMs() uint32 {
	if x != nil {
		return x.WaitMs
	}
	return 0
}

func (x *EnsureClaimRequest) GetScope() string {
	if x != nil {
		return x.Scope
	}
	return ""
}

func (x *EnsureClaimRequest) GetFromScope() string {
	if x != nil && x.FromScope != nil {
		return *x.FromScope
	}
	return ""
}

type EnsureClaimResponse struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Claim         *Claim                 `protobuf:"bytes,1,opt,name=claim,proto3" json:"claim,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *EnsureClaimResponse) Reset() {
	*x = EnsureClaimResponse{}
	mi := &file_tenure_v1_claims_proto_msgTypes[2]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *EnsureClaimResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*EnsureClaimResponse) ProtoMessage() {}

func (x *EnsureClaimResponse) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[2]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use EnsureClaimResponse.ProtoReflect.Descriptor instead.
func (*EnsureClaimResponse) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{2}
}

func (x *EnsureClaimResponse) GetClaim() *Claim {
	if x != nil {
		return x.Claim
	}
	return nil
}

type DeclareClaimsRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// All the claims that the agent wants to have in this scope; an empty list releases all that the scope has.
	Claims []*ClaimSpec `protobuf:"bytes,1,rep,name=claims,proto3" json:"claims,omitempty"`
	// Whether only to say what would happen.
	DryRun bool `protobuf:"varint,2,opt,name=dry_run,json=dryRun,proto3" json:"dry_run,omitempty"`
	// As for Ensure; all networks must exist before anything happens.
	WaitMs uint32 `protobuf:"varint,3,opt,name=wait_ms,json=waitMs,proto3" json:"wait_ms,omitempty"`
	// Whether the answer has the routes of each network once, in its own field, and claims come without them.
	RoutesApart bool `protobuf:"varint,4,opt,name=routes_apart,json=routesApart,proto3" json:"routes_apart,omitempty"`
	// The scope that declares. Claims of other scopes stay as they are.
	Scope string `protobuf:"bytes,5,opt,name=scope,proto3" json:"scope,omitempty"`
	// Another scope, of which the declared claims move to this one with their addresses: for a component that changes its scope, or that had none
	// (""). What is not declared stays with that scope.
	FromScope     *string `protobuf:"bytes,6,opt,name=from_scope,json=fromScope,proto3,oneof" json:"from_scope,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *DeclareClaimsRequest) Reset() {
	*x = DeclareClaimsRequest{}
	mi := &file_tenure_v1_claims_proto_msgTypes[3]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *DeclareClaimsRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*DeclareClaimsRequest) ProtoMessage() {}

func (x *DeclareClaimsRequest) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[3]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use DeclareClaimsRequest.ProtoReflect.Descriptor instead.
func (*DeclareClaimsRequest) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{3}
}

func (x *DeclareClaimsRequest) GetClaims() []*ClaimSpec {
	if x != nil {
		return x.Claims
	}
	return nil
}

func (x *DeclareClaimsRequest) GetDryRun() bool {
	if x != nil {
		return x.DryRun
	}
	return false
}

func (x *DeclareClaimsRequest) GetWaitMs() uint32 {
	if x != nil {
		return x.WaitMs
	}
	return 0
}

func (x *DeclareClaimsRequest) GetRoutesApart() bool {
	if x != nil {
		return x.RoutesApart
	}
	return false
}

func (x *DeclareClaimsRequest) GetScope() string {
	if x != nil {
		return x.Scope
	}
	return ""
}

func (x *DeclareClaimsRequest) GetFromScope() string {
	if x != nil && x.FromScope != nil {
		return *x.FromScope
	}
	return ""
}

type DeclareClaimsResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Claims that were made, or made again because they held other addresses than declared.
	Created []*Claim `protobuf:"bytes,1,rep,name=created,proto3" json:"created,omitempty"`
	// Claims that were there.
	Kept []*Claim `protobuf:"bytes,2,rep,name=kept,proto3" json:"kept,omitempty"`
	// Claims that were released.
	Released []*ClaimId `protobuf:"bytes,3,rep,name=released,proto3" json:"released,omitempty"`
	// As in ListClaimsResponse.
	Routes        []*NetworkRoutes `protobuf:"bytes,4,rep,name=routes,proto3" json:"routes,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *DeclareClaimsResponse) Reset() {
	*x = DeclareClaimsResponse{}
	mi := &file_tenure_v1_claims_proto_msgTypes[4]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *DeclareClaimsResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*DeclareClaimsResponse) ProtoMessage() {}

func (x *DeclareClaimsResponse) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[4]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use DeclareClaimsResponse.ProtoReflect.Descriptor instead.
func (*DeclareClaimsResponse) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{4}
}

func (x *DeclareClaimsResponse) GetCreated() []*Claim {
	if x != nil {
		return x.Created
	}
	return nil
}

func (x *DeclareClaimsResponse) GetKept() []*Claim {
	if x != nil {
		return x.Kept
	}
	return nil
}

func (x *DeclareClaimsResponse) GetReleased() []*ClaimId {
	if x != nil {
		return x.Released
	}
	return nil
}

func (x *DeclareClaimsResponse) GetRoutes() []*NetworkRoutes {
	if x != nil {
		return x.Routes
	}
	return nil
}

type ReleaseClaimRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Claim *ClaimId               `protobuf:"bytes,1,opt,name=claim,proto3" json:"claim,omitempty"`
	// The scope that the claim belongs to.
	Scope string `protobuf:"bytes,2,opt,name=scope,proto3" json:"scope,omitempty"`
	// Preconditions: the claim is released only if it has this generation, and this holder asked for it last. Otherwise it stays, and the answer
	// is "claim-superseded". A run of an agent that ends names itself as the holder, so that it never releases what its successor uses.
	Generation    *uint64 `protobuf:"varint,3,opt,name=generation,proto3,oneof" json:"generation,omitempty"`
	Holder        *string `protobuf:"bytes,4,opt,name=holder,proto3,oneof" json:"holder,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReleaseClaimRequest) Reset() {
	*x = ReleaseClaimRequest{}
	mi := &file_tenure_v1_claims_proto_msgTypes[5]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReleaseClaimRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReleaseClaimRequest) ProtoMessage() {}

func (x *ReleaseClaimRequest) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[5]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReleaseClaimRequest.ProtoReflect.Descriptor instead.
func (*ReleaseClaimRequest) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{5}
}

func (x *ReleaseClaimRequest) GetClaim() *ClaimId {
	if x != nil {
		return x.Claim
	}
	return nil
}

func (x *ReleaseClaimRequest) GetScope() string {
	if x != nil {
		return x.Scope
	}
	return ""
}

func (x *ReleaseClaimRequest) GetGeneration() uint64 {
	if x != nil && x.Generation != nil {
		return *x.Generation
	}
	return 0
}

func (x *ReleaseClaimRequest) GetHolder() string {
	if x != nil && x.Holder != nil {
		return *x.Holder
	}
	return ""
}

type ReleaseClaimResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Whether there was such a claim.
	Existed       bool `protobuf:"varint,1,opt,name=existed,proto3" json:"existed,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReleaseClaimResponse) Reset() {
	*x = ReleaseClaimResponse{}
	mi := &file_tenure_v1_claims_proto_msgTypes[6]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReleaseClaimResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReleaseClaimResponse) ProtoMessage() {}

func (x *ReleaseClaimResponse) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[6]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReleaseClaimResponse.ProtoReflect.Descriptor instead.
func (*ReleaseClaimResponse) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{6}
}

func (x *ReleaseClaimResponse) GetExisted() bool {
	if x != nil {
		return x.Existed
	}
	return false
}

type ListClaimsRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// As for Declare.
	RoutesApart bool `protobuf:"varint,1,opt,name=routes_apart,json=routesApart,proto3" json:"routes_apart,omitempty"`
	// Only the claims of this scope; those of no scope if it is empty, and all of the agent's if it is not set.
	Scope         *string `protobuf:"bytes,2,opt,name=scope,proto3,oneof" json:"scope,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListClaimsRequest) Reset() {
	*x = ListClaimsRequest{}
	mi := &file_tenure_v1_claims_proto_msgTypes[7]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListClaimsRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListClaimsRequest) ProtoMessage() {}

func (x *ListClaimsRequest) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[7]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListClaimsRequest.ProtoReflect.Descriptor instead.
func (*ListClaimsRequest) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{7}
}

func (x *ListClaimsRequest) GetRoutesApart() bool {
	if x != nil {
		return x.RoutesApart
	}
	return false
}

func (x *ListClaimsRequest) GetScope() string {
	if x != nil && x.Scope != nil {
		return *x.Scope
	}
	return ""
}

type ListClaimsResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Sorted by network and name.
	Claims []*Claim `protobuf:"bytes,1,rep,name=claims,proto3" json:"claims,omitempty"`
	// The routes of the networks of these claims, if they were asked for apart. A claim whose network is not there has its own.
	Routes        []*NetworkRoutes `protobuf:"bytes,2,rep,name=routes,proto3" json:"routes,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListClaimsResponse) Reset() {
	*x = ListClaimsResponse{}
	mi := &file_tenure_v1_claims_proto_msgTypes[8]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListClaimsResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListClaimsResponse) ProtoMessage() {}

func (x *ListClaimsResponse) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[8]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListClaimsResponse.ProtoReflect.Descriptor instead.
func (*ListClaimsResponse) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{8}
}

func (x *ListClaimsResponse) GetClaims() []*Claim {
	if x != nil {
		return x.Claims
	}
	return nil
}

func (x *ListClaimsResponse) GetRoutes() []*NetworkRoutes {
	if x != nil {
		return x.Routes
	}
	return nil
}

type WatchClaimsRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The version of the last response that was read, to get only what has changed since; empty for everything.
	Version string `protobuf:"bytes,1,opt,name=version,proto3" json:"version,omitempty"`
	// As for Declare.
	RoutesApart bool `protobuf:"varint,2,opt,name=routes_apart,json=routesApart,proto3" json:"routes_apart,omitempty"`
	// As for List. A watch of one scope renews the leases of that scope's claims only. To it, a claim that another scope takes over has ended, with
	// the reason "scope"; one that resumes from a version may hear about the end of claims of other scopes, too.
	Scope         *string `protobuf:"bytes,3,opt,name=scope,proto3,oneof" json:"scope,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *WatchClaimsRequest) Reset() {
	*x = WatchClaimsRequest{}
	mi := &file_tenure_v1_claims_proto_msgTypes[9]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *WatchClaimsRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*WatchClaimsRequest) ProtoMessage() {}

func (x *WatchClaimsRequest) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[9]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use WatchClaimsRequest.ProtoReflect.Descriptor instead.
func (*WatchClaimsRequest) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{9}
}

func (x *WatchClaimsRequest) GetVersion() string {
	if x != nil {
		return x.Version
	}
	return ""
}

func (x *WatchClaimsRequest) GetRoutesApart() bool {
	if x != nil {
		return x.RoutesApart
	}
	return false
}

func (x *WatchClaimsRequest) GetScope() string {
	if x != nil && x.Scope != nil {
		return *x.Scope
	}
	return ""
}

type WatchClaimsResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The version after this response.
	Version string `protobuf:"bytes,1,opt,name=version,proto3" json:"version,omitempty"`
	// Whether `claims` is everything that the agent has: forget the rest. The first response has everything, unless the daemon still
	// knows what has changed since the requested version.
	IsAll bool `protobuf:"varint,2,opt,name=is_all,json=isAll,proto3" json:"is_all,omitempty"`
	// The claims that are new or have changed: their addresses, or the gateways, routes or ranges of their network.
	Claims []*Claim `protobuf:"bytes,3,rep,name=claims,proto3" json:"claims,omitempty"`
	// The claims that have ended.
	Ended []*EndedClaim `protobuf:"bytes,4,rep,name=ended,proto3" json:"ended,omitempty"`
	// As in ListClaimsResponse, for the claims of this response.
	Routes        []*NetworkRoutes `protobuf:"bytes,5,rep,name=routes,proto3" json:"routes,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *WatchClaimsResponse) Reset() {
	*x = WatchClaimsResponse{}
	mi := &file_tenure_v1_claims_proto_msgTypes[10]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *WatchClaimsResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*WatchClaimsResponse) ProtoMessage() {}

func (x *WatchClaimsResponse) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[10]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use WatchClaimsResponse.ProtoReflect.Descriptor instead.
func (*WatchClaimsResponse) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{10}
}

func (x *WatchClaimsResponse) GetVersion() string {
	if x != nil {
		return x.Version
	}
	return ""
}

func (x *WatchClaimsResponse) GetIsAll() bool {
	if x != nil {
		return x.IsAll
	}
	return false
}

func (x *WatchClaimsResponse) GetClaims() []*Claim {
	if x != nil {
		return x.Claims
	}
	return nil
}

func (x *WatchClaimsResponse) GetEnded() []*EndedClaim {
	if x != nil {
		return x.Ended
	}
	return nil
}

func (x *WatchClaimsResponse) GetRoutes() []*NetworkRoutes {
	if x != nil {
		return x.Routes
	}
	return nil
}

// What identifies one of an agent's claims.
type ClaimId struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Network       string                 `protobuf:"bytes,1,opt,name=network,proto3" json:"network,omitempty"`
	Name          string                 `protobuf:"bytes,2,opt,name=name,proto3" json:"name,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ClaimId) Reset() {
	*x = ClaimId{}
	mi := &file_tenure_v1_claims_proto_msgTypes[11]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ClaimId) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ClaimId) ProtoMessage() {}

func (x *ClaimId) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[11]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ClaimId.ProtoReflect.Descriptor instead.
func (*ClaimId) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{11}
}

func (x *ClaimId) GetNetwork() string {
	if x != nil {
		return x.Network
	}
	return ""
}

func (x *ClaimId) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

// A claim that has ended.
type EndedClaim struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	Claim *ClaimId               `protobuf:"bytes,1,opt,name=claim,proto3" json:"claim,omitempty"`
	// Why: "agent" (it was released by its agent), "operator", "lapsed", "lost" or "scope", followed by ": " and more words for people, if any.
	Reason        string `protobuf:"bytes,2,opt,name=reason,proto3" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *EndedClaim) Reset() {
	*x = EndedClaim{}
	mi := &file_tenure_v1_claims_proto_msgTypes[12]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *EndedClaim) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*EndedClaim) ProtoMessage() {}

func (x *EndedClaim) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[12]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use EndedClaim.ProtoReflect.Descriptor instead.
func (*EndedClaim) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{12}
}

func (x *EndedClaim) GetClaim() *ClaimId {
	if x != nil {
		return x.Claim
	}
	return nil
}

func (x *EndedClaim) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

// A claim and what it holds.
type Claim struct {
	state   protoimpl.MessageState `protogen:"open.v1"`
	Agent   string                 `protobuf:"bytes,1,opt,name=agent,proto3" json:"agent,omitempty"`
	Network string                 `protobuf:"bytes,2,opt,name=network,proto3" json:"network,omitempty"`
	Name    string                 `protobuf:"bytes,3,opt,name=name,proto3" json:"name,omitempty"`
	// The number of its allocation. It stays as long as the claim does, across restarts and reboots; a claim that was released and made again has
	// a greater one. See ReleaseClaimRequest.
	Generation uint64 `protobuf:"varint,4,opt,name=generation,proto3" json:"generation,omitempty"`
	// At most one from each pool of the network, in the order of the pools.
	Addresses []*ClaimAddress `protobuf:"bytes,5,rep,name=addresses,proto3" json:"addresses,omitempty"`
	// The routes of the network, unless they were asked for apart.
	Routes []*ClaimRoute `protobuf:"bytes,6,rep,name=routes,proto3" json:"routes,omitempty"`
	// When it was made, in milliseconds of Unix time, and its age.
	MadeAtMs uint64 `protobuf:"varint,7,opt,name=made_at_ms,json=madeAtMs,proto3" json:"made_at_ms,omitempty"`
	AgeMs    uint64 `protobuf:"varint,8,opt,name=age_ms,json=ageMs,proto3" json:"age_ms,omitempty"`
	// The lease in seconds; 0 if it has none.
	LeaseSeconds uint32 `protobuf:"varint,9,opt,name=lease_seconds,json=leaseSeconds,proto3" json:"lease_seconds,omitempty"`
	// When it ends by itself if the agent is not heard of, in milliseconds of Unix time; 0 if it does not.
	LapsesAtMs uint64 `protobuf:"varint,10,opt,name=lapses_at_ms,json=lapsesAtMs,proto3" json:"lapses_at_ms,omitempty"`
	// Whether the agent has not asked for it since the node booted.
	Reserved bool `protobuf:"varint,11,opt,name=reserved,proto3" json:"reserved,omitempty"`
	// The scope that it belongs to, and the last one that asked for it; each may be empty.
	Scope  string `protobuf:"bytes,12,opt,name=scope,proto3" json:"scope,omitempty"`
	Holder string `protobuf:"bytes,13,opt,name=holder,proto3" json:"holder,omitempty"`
	// The optional families that it has no address of. The addresses of a claim never change: a later Ensure does not add any, and says here
	// whether the network could give one by now.
	MissingFamilies []*MissingFamily `protobuf:"bytes,14,rep,name=missing_families,json=missingFamilies,proto3" json:"missing_families,omitempty"`
	unknownFields   protoimpl.UnknownFields
	sizeCache       protoimpl.SizeCache
}

func (x *Claim) Reset() {
	*x = Claim{}
	mi := &file_tenure_v1_claims_proto_msgTypes[13]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Claim) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Claim) ProtoMessage() {}

func (x *Claim) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[13]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Claim.ProtoReflect.Descriptor instead.
func (*Claim) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{13}
}

func (x *Claim) GetAgent() string {
	if x != nil {
		return x.Agent
	}
	return ""
}

func (x *Claim) GetNetwork() string {
	if x != nil {
		return x.Network
	}
	return ""
}

func (x *Claim) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Claim) GetGeneration() uint64 {
	if x != nil {
		return x.Generation
	}
	return 0
}

func (x *Claim) GetAddresses() []*ClaimAddress {
	if x != nil {
		return x.Addresses
	}
	return nil
}

func (x *Claim) GetRoutes() []*ClaimRoute {
	if x != nil {
		return x.Routes
	}
	return nil
}

func (x *Claim) GetMadeAtMs() uint64 {
	if x != nil {
		return x.MadeAtMs
	}
	return 0
}

func (x *Claim) GetAgeMs() uint64 {
	if x != nil {
		return x.AgeMs
	}
	return 0
}

func (x *Claim) GetLeaseSeconds() uint32 {
	if x != nil {
		return x.LeaseSeconds
	}
	return 0
}

func (x *Claim) GetLapsesAtMs() uint64 {
	if x != nil {
		return x.LapsesAtMs
	}
	return 0
}

func (x *Claim) GetReserved() bool {
	if x != nil {
		return x.Reserved
	}
	return false
}

func (x *Claim) GetScope() string {
	if x != nil {
		return x.Scope
	}
	return ""
}

func (x *Claim) GetHolder() string {
	if x != nil {
		return x.Holder
	}
	return ""
}

func (x *Claim) GetMissingFamilies() []*MissingFamily {
	if x != nil {
		return x.MissingFamilies
	}
	return nil
}

// An optional family that a claim has no address of.
type MissingFamily struct {
	state  protoimpl.MessageState `protogen:"open.v1"`
	Family Family                 `protobuf:"varint,1,opt,name=family,proto3,enum=tenure.v1.Family" json:"family,omitempty"`
	// "no-pool": the network has no pool of it. "pool-exhausted": none is free at present. "available": the network could give one by now; a claim
	// that is released and ensured again would have it, and perhaps other addresses than before. "unknown": a delegate serves the network.
	Reason string `protobuf:"bytes,2,opt,name=reason,proto3" json:"reason,omitempty"`
	// The same, for people.
	Message       string `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *MissingFamily) Reset() {
	*x = MissingFamily{}
	mi := &file_tenure_v1_claims_proto_msgTypes[14]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *MissingFamily) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*MissingFamily) ProtoMessage() {}

func (x *MissingFamily) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[14]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use MissingFamily.ProtoReflect.Descriptor instead.
func (*MissingFamily) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{14}
}

func (x *MissingFamily) GetFamily() Family {
	if x != nil {
		return x.Family
	}
	return Family_FAMILY_UNSPECIFIED
}

func (x *MissingFamily) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

func (x *MissingFamily) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

// An address of a claim.
type ClaimAddress struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// With its prefix length, as in "10.1.0.7/24"; or the whole prefix that the agent has, as in "10.5.0.16/28", if `is_prefix` is set.
	Address string `protobuf:"bytes,1,opt,name=address,proto3" json:"address,omitempty"`
	// The gateway of its range, as it is now; may be empty.
	Gateway string `protobuf:"bytes,2,opt,name=gateway,proto3" json:"gateway,omitempty"`
	// Its pool and range, with their attributes, which the network's policy and its supply define: "mtu" is the host's own key (see below); on
	// AWS, a range has those that wit/README.md lists. Ignore keys that you do not know.
	Pool            string            `protobuf:"bytes,3,opt,name=pool,proto3" json:"pool,omitempty"`
	Range           string            `protobuf:"bytes,4,opt,name=range,proto3" json:"range,omitempty"`
	PoolAttributes  map[string]string `protobuf:"bytes,5,rep,name=pool_attributes,json=poolAttributes,proto3" json:"pool_attributes,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	RangeAttributes map[string]string `protobuf:"bytes,6,rep,name=range_attributes,json=rangeAttributes,proto3" json:"range_attributes,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	// The policy's attributes of this address.
	Attributes map[string]string `protobuf:"bytes,7,rep,name=attributes,proto3" json:"attributes,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	// The MTU: "mtu" among the attributes of the address, its range or its pool, the first of these that has it as a number; else 0.
	Mtu uint32 `protobuf:"varint,8,opt,name=mtu,proto3" json:"mtu,omitempty"`
	// Whether its range is draining or no longer one of the network's. The address stays with the claim; the operator would like to have
	// it back: release the claim and claim again.
	Leaving bool `protobuf:"varint,9,opt,name=leaving,proto3" json:"leaving,omitempty"`
	// Whether the agent has all addresses of the prefix, for instance to delegate them. The network then has ranges of prefixes of this length;
	// pods get nothing from them.
	IsPrefix      bool `protobuf:"varint,10,opt,name=is_prefix,json=isPrefix,proto3" json:"is_prefix,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ClaimAddress) Reset() {
	*x = ClaimAddress{}
	mi := &file_tenure_v1_claims_proto_msgTypes[15]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ClaimAddress) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ClaimAddress) ProtoMessage() {}

func (x *ClaimAddress) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[15]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ClaimAddress.ProtoReflect.Descriptor instead.
func (*ClaimAddress) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{15}
}

func (x *ClaimAddress) GetAddress() string {
	if x != nil {
		return x.Address
	}
	return ""
}

func (x *ClaimAddress) GetGateway() string {
	if x != nil {
		return x.Gateway
	}
	return ""
}

func (x *ClaimAddress) GetPool() string {
	if x != nil {
		return x.Pool
	}
	return ""
}

func (x *ClaimAddress) GetRange() string {
	if x != nil {
		return x.Range
	}
	return ""
}

func (x *ClaimAddress) GetPoolAttributes() map[string]string {
	if x != nil {
		return x.PoolAttributes
	}
	return nil
}

func (x *ClaimAddress) GetRangeAttributes() map[string]string {
	if x != nil {
		return x.RangeAttributes
	}
	return nil
}

func (x *ClaimAddress) GetAttributes() map[string]string {
	if x != nil {
		return x.Attributes
	}
	return nil
}

func (x *ClaimAddress) GetMtu() uint32 {
	if x != nil {
		return x.Mtu
	}
	return 0
}

func (x *ClaimAddress) GetLeaving() bool {
	if x != nil {
		return x.Leaving
	}
	return false
}

func (x *ClaimAddress) GetIsPrefix() bool {
	if x != nil {
		return x.IsPrefix
	}
	return false
}

// The routes of a network, which all claims on it have.
type NetworkRoutes struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Network       string                 `protobuf:"bytes,1,opt,name=network,proto3" json:"network,omitempty"`
	Routes        []*ClaimRoute          `protobuf:"bytes,2,rep,name=routes,proto3" json:"routes,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *NetworkRoutes) Reset() {
	*x = NetworkRoutes{}
	mi := &file_tenure_v1_claims_proto_msgTypes[16]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *NetworkRoutes) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*NetworkRoutes) ProtoMessage() {}

func (x *NetworkRoutes) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[16]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use NetworkRoutes.ProtoReflect.Descriptor instead.
func (*NetworkRoutes) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{16}
}

func (x *NetworkRoutes) GetNetwork() string {
	if x != nil {
		return x.Network
	}
	return ""
}

func (x *NetworkRoutes) GetRoutes() []*ClaimRoute {
	if x != nil {
		return x.Routes
	}
	return nil
}

// A route of a network.
type ClaimRoute struct {
	state       protoimpl.MessageState `protogen:"open.v1"`
	Destination string                 `protobuf:"bytes,1,opt,name=destination,proto3" json:"destination,omitempty"`
	// Empty for the address's own gateway.
	Gateway string `protobuf:"bytes,2,opt,name=gateway,proto3" json:"gateway,omitempty"`
	// Zero if not set.
	Mtu           uint32  `protobuf:"varint,3,opt,name=mtu,proto3" json:"mtu,omitempty"`
	Advmss        uint32  `protobuf:"varint,4,opt,name=advmss,proto3" json:"advmss,omitempty"`
	Priority      *uint32 `protobuf:"varint,5,opt,name=priority,proto3,oneof" json:"priority,omitempty"`
	Table         *uint32 `protobuf:"varint,6,opt,name=table,proto3,oneof" json:"table,omitempty"`
	Scope         *uint32 `protobuf:"varint,7,opt,name=scope,proto3,oneof" json:"scope,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ClaimRoute) Reset() {
	*x = ClaimRoute{}
	mi := &file_tenure_v1_claims_proto_msgTypes[17]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ClaimRoute) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ClaimRoute) ProtoMessage() {}

func (x *ClaimRoute) ProtoReflect() protoreflect.Message {
	mi := &file_tenure_v1_claims_proto_msgTypes[17]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ClaimRoute.ProtoReflect.Descriptor instead.
func (*ClaimRoute) Descriptor() ([]byte, []int) {
	return file_tenure_v1_claims_proto_rawDescGZIP(), []int{17}
}

func (x *ClaimRoute) GetDestination() string {
	if x != nil {
		return x.Destination
	}
	return ""
}

func (x *ClaimRoute) GetGateway() string {
	if x != nil {
		return x.Gateway
	}
	return ""
}

func (x *ClaimRoute) GetMtu() uint32 {
	if x != nil {
		return x.Mtu
	}
	return 0
}

func (x *ClaimRoute) GetAdvmss() uint32 {
	if x != nil {
		return x.Advmss
	}
	return 0
}

func (x *ClaimRoute) GetPriority() uint32 {
	if x != nil && x.Priority != nil {
		return *x.Priority
	}
	return 0
}

func (x *ClaimRoute) GetTable() uint32 {
	if x != nil && x.Table != nil {
		return *x.Table
	}
	return 0
}

func (x *ClaimRoute) GetScope() uint32 {
	if x != nil && x.Scope != nil {
		return *x.Scope
	}
	return 0
}

var File_tenure_v1_claims_proto protoreflect.FileDescriptor

const file_tenure_v1_claims_proto_rawDesc = "" +
	"\n" +
	"\x16tenure/v1/claims.proto\x12\ttenure.v1\"\x83\x02\n" +
	"\tClaimSpec\x12\x18\n" +
	"\anetwork\x18\x01 \x01(\tR\anetwork\x12\x12\n" +
	"\x04name\x18\x02 \x01(\tR\x04name\x12-\n" +
	"\bfamilies\x18\x03 \x03(\x0e2\x11.tenure.v1.FamilyR\bfamilies\x12\x1c\n" +
	"\taddresses\x18\x04 \x03(\tR\taddresses\x12#\n" +
	"\rlease_seconds\x18\x05 \x01(\rR\fleaseSeconds\x12>\n" +
	"\x11optional_families\x18\x06 \x03(\x0e2\x11.tenure.v1.FamilyR\x10optionalFamilies\x12\x16\n" +
	"\x06holder\x18\a \x01(\tR\x06holder\"\xa2\x01\n" +
	"\x12EnsureClaimRequest\x12*\n" +
	"\x05claim\x18\x01 \x01(\v2\x14.tenure.v1.ClaimSpecR\x05claim\x12\x17\n" +
	"\await_ms\x18\x02 \x01(\rR\x06waitMs\x12\x14\n" +
	"\x05scope\x18\x03 \x01(\tR\x05scope\x12\"\n" +
	"\n" +
	"from_scope\x18\x04 \x01(\tH\x00R\tfromScope\x88\x01\x01B\r\n" +
	"\v_from_scope\"=\n" +
	"\x13EnsureClaimResponse\x12&\n" +
	"\x05claim\x18\x01 \x01(\v2\x10.tenure.v1.ClaimR\x05claim\"\xe2\x01\n" +
	"\x14DeclareClaimsRequest\x12,\n" +
	"\x06claims\x18\x01 \x03(\v2\x14.tenure.v1.ClaimSpecR\x06claims\x12\x17\n" +
	"\adry_run\x18\x02 \x01(\bR\x06dryRun\x12\x17\n" +
	"\await_ms\x18\x03 \x01(\rR\x06waitMs\x12!\n" +
	"\froutes_apart\x18\x04 \x01(\bR\vroutesApart\x12\x14\n" +
	"\x05scope\x18\x05 \x01(\tR\x05scope\x12\"\n" +
	"\n" +
	"from_scope\x18\x06 \x01(\tH\x00R\tfromScope\x88\x01\x01B\r\n" +
	"\v_from_scope\"\xcb\x01\n" +
	"\x15DeclareClaimsResponse\x12*\n" +
	"\acreated\x18\x01 \x03(\v2\x10.tenure.v1.ClaimR\acreated\x12$\n" +
	"\x04kept\x18\x02 \x03(\v2\x10.tenure.v1.ClaimR\x04kept\x12.\n" +
	"\breleased\x18\x03 \x03(\v2\x12.tenure.v1.ClaimIdR\breleased\x120\n" +
	"\x06routes\x18\x04 \x03(\v2\x18.tenure.v1.NetworkRoutesR\x06routes\"\xb1\x01\n" +
	"\x13ReleaseClaimRequest\x12(\n" +
	"\x05claim\x18\x01 \x01(\v2\x12.tenure.v1.ClaimIdR\x05claim\x12\x14\n" +
	"\x05scope\x18\x02 \x01(\tR\x05scope\x12#\n" +
	"\n" +
	"generation\x18\x03 \x01(\x04H\x00R\n" +
	"generation\x88\x01\x01\x12\x1b\n" +
	"\x06holder\x18\x04 \x01(\tH\x01R\x06holder\x88\x01\x01B\r\n" +
	"\v_generationB\t\n" +
	"\a_holder\"0\n" +
	"\x14ReleaseClaimResponse\x12\x18\n" +
	"\aexisted\x18\x01 \x01(\bR\aexisted\"[\n" +
	"\x11ListClaimsRequest\x12!\n" +
	"\froutes_apart\x18\x01 \x01(\bR\vroutesApart\x12\x19\n" +
	"\x05scope\x18\x02 \x01(\tH\x00R\x05scope\x88\x01\x01B\b\n" +
	"\x06_scope\"p\n" +
	"\x12ListClaimsResponse\x12(\n" +
	"\x06claims\x18\x01 \x03(\v2\x10.tenure.v1.ClaimR\x06claims\x120\n" +
	"\x06routes\x18\x02 \x03(\v2\x18.tenure.v1.NetworkRoutesR\x06routes\"v\n" +
	"\x12WatchClaimsRequest\x12\x18\n" +
	"\aversion\x18\x01 \x01(\tR\aversion\x12!\n" +
	"\froutes_apart\x18\x02 \x01(\bR\vroutesApart\x12\x19\n" +
	"\x05scope\x18\x03 \x01(\tH\x00R\x05scope\x88\x01\x01B\b\n" +
	"\x06_scope\"\xcf\x01\n" +
	"\x13WatchClaimsResponse\x12\x18\n" +
	"\aversion\x18\x01 \x01(\tR\aversion\x12\x15\n" +
	"\x06is_all\x18\x02 \x01(\bR\x05isAll\x12(\n" +
	"\x06claims\x18\x03 \x03(\v2\x10.tenure.v1.ClaimR\x06claims\x12+\n" +
	"\x05ended\x18\x04 \x03(\v2\x15.tenure.v1.EndedClaimR\x05ended\x120\n" +
	"\x06routes\x18\x05 \x03(\v2\x18.tenure.v1.NetworkRoutesR\x06routes\"7\n" +
	"\aClaimId\x12\x18\n" +
	"\anetwork\x18\x01 \x01(\tR\anetwork\x12\x12\n" +
	"\x04name\x18\x02 \x01(\tR\x04name\"N\n" +
	"\n" +
	"EndedClaim\x12(\n" +
	"\x05claim\x18\x01 \x01(\v2\x12.tenure.v1.ClaimIdR\x05claim\x12\x16\n" +
	"\x06reason\x18\x02 \x01(\tR\x06reason\"\xdc\x03\n" +
	"\x05Claim\x12\x14\n" +
	"\x05agent\x18\x01 \x01(\tR\x05agent\x12\x18\n" +
	"\anetwork\x18\x02 \x01(\tR\anetwork\x12\x12\n" +
	"\x04name\x18\x03 \x01(\tR\x04name\x12\x1e\n" +
	"\n" +
	"generation\x18\x04 \x01(\x04R\n" +
	"generation\x125\n" +
	"\taddresses\x18\x05 \x03(\v2\x17.tenure.v1.ClaimAddressR\taddresses\x12-\n" +
	"\x06routes\x18\x06 \x03(\v2\x15.tenure.v1.ClaimRouteR\x06routes\x12\x1c\n" +
	"\n" +
	"made_at_ms\x18\a \x01(\x04R\bmadeAtMs\x12\x15\n" +
	"\x06age_ms\x18\b \x01(\x04R\x05ageMs\x12#\n" +
	"\rlease_seconds\x18\t \x01(\rR\fleaseSeconds\x12 \n" +
	"\flapses_at_ms\x18\n" +
	" \x01(\x04R\n" +
	"lapsesAtMs\x12\x1a\n" +
	"\breserved\x18\v \x01(\bR\breserved\x12\x14\n" +
	"\x05scope\x18\f \x01(\tR\x05scope\x12\x16\n" +
	"\x06holder\x18\r \x01(\tR\x06holder\x12C\n" +
	"\x10missing_families\x18\x0e \x03(\v2\x18.tenure.v1.MissingFamilyR\x0fmissingFamilies\"l\n" +
	"\rMissingFamily\x12)\n" +
	"\x06family\x18\x01 \x01(\x0e2\x11.tenure.v1.FamilyR\x06family\x12\x16\n" +
	"\x06reason\x18\x02 \x01(\tR\x06reason\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\"\xf3\x04\n" +
	"\fClaimAddress\x12\x18\n" +
	"\aaddress\x18\x01 \x01(\tR\aaddress\x12\x18\n" +
	"\agateway\x18\x02 \x01(\tR\agateway\x12\x12\n" +
	"\x04pool\x18\x03 \x01(\tR\x04pool\x12\x14\n" +
	"\x05range\x18\x04 \x01(\tR\x05range\x12T\n" +
	"\x0fpool_attributes\x18\x05 \x03(\v2+.tenure.v1.ClaimAddress.PoolAttributesEntryR\x0epoolAttributes\x12W\n" +
	"\x10range_attributes\x18\x06 \x03(\v2,.tenure.v1.ClaimAddress.RangeAttributesEntryR\x0frangeAttributes\x12G\n" +
	"\n" +
	"attributes\x18\a \x03(\v2'.tenure.v1.ClaimAddress.AttributesEntryR\n" +
	"attributes\x12\x10\n" +
	"\x03mtu\x18\b \x01(\rR\x03mtu\x12\x18\n" +
	"\aleaving\x18\t \x01(\bR\aleaving\x12\x1b\n" +
	"\tis_prefix\x18\n" +
	" \x01(\bR\bisPrefix\x1aA\n" +
	"\x13PoolAttributesEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\x1aB\n" +
	"\x14RangeAttributesEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\x1a=\n" +
	"\x0fAttributesEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\"X\n" +
	"\rNetworkRoutes\x12\x18\n" +
	"\anetwork\x18\x01 \x01(\tR\anetwork\x12-\n" +
	"\x06routes\x18\x02 \x03(\v2\x15.tenure.v1.ClaimRouteR\x06routes\"\xea\x01\n" +
	"\n" +
	"ClaimRoute\x12 \n" +
	"\vdestination\x18\x01 \x01(\tR\vdestination\x12\x18\n" +
	"\agateway\x18\x02 \x01(\tR\agateway\x12\x10\n" +
	"\x03mtu\x18\x03 \x01(\rR\x03mtu\x12\x16\n" +
	"\x06advmss\x18\x04 \x01(\rR\x06advmss\x12\x1f\n" +
	"\bpriority\x18\x05 \x01(\rH\x00R\bpriority\x88\x01\x01\x12\x19\n" +
	"\x05table\x18\x06 \x01(\rH\x01R\x05table\x88\x01\x01\x12\x19\n" +
	"\x05scope\x18\a \x01(\rH\x02R\x05scope\x88\x01\x01B\v\n" +
	"\t_priorityB\b\n" +
	"\x06_tableB\b\n" +
	"\x06_scope*B\n" +
	"\x06Family\x12\x16\n" +
	"\x12FAMILY_UNSPECIFIED\x10\x00\x12\x0f\n" +
	"\vFAMILY_IPV4\x10\x01\x12\x0f\n" +
	"\vFAMILY_IPV6\x10\x022\xfa\x02\n" +
	"\x06Claims\x12G\n" +
	"\x06Ensure\x12\x1d.tenure.v1.EnsureClaimRequest\x1a\x1e.tenure.v1.EnsureClaimResponse\x12L\n" +
	"\aDeclare\x12\x1f.tenure.v1.DeclareClaimsRequest\x1a .tenure.v1.DeclareClaimsResponse\x12J\n" +
	"\aRelease\x12\x1e.tenure.v1.ReleaseClaimRequest\x1a\x1f.tenure.v1.ReleaseClaimResponse\x12C\n" +
	"\x04List\x12\x1c.tenure.v1.ListClaimsRequest\x1a\x1d.tenure.v1.ListClaimsResponse\x12H\n" +
	"\x05Watch\x12\x1d.tenure.v1.WatchClaimsRequest\x1a\x1e.tenure.v1.WatchClaimsResponse0\x01b\x06proto3"

var (
	file_tenure_v1_claims_proto_rawDescOnce sync.Once
	file_tenure_v1_claims_proto_rawDescData []byte
)

func file_tenure_v1_claims_proto_rawDescGZIP() []byte {
	file_tenure_v1_claims_proto_rawDescOnce.Do(func() {
		file_tenure_v1_claims_proto_rawDescData = protoimpl.X.CompressGZIP(unsafe.Slice(unsafe.StringData(file_tenure_v1_claims_proto_rawDesc), len(file_tenure_v1_claims_proto_rawDesc)))
	})
	return file_tenure_v1_claims_proto_rawDescData
}

var file_tenure_v1_claims_proto_enumTypes = make([]protoimpl.EnumInfo, 1)
var file_tenure_v1_claims_proto_msgTypes = make([]protoimpl.MessageInfo, 21)
var file_tenure_v1_claims_proto_goTypes = []any{
	(Family)(0),                   // 0: tenure.v1.Family
	(*ClaimSpec)(nil),             // 1: tenure.v1.ClaimSpec
	(*EnsureClaimRequest)(nil),    // 2: tenure.v1.EnsureClaimRequest
	(*EnsureClaimResponse)(nil),   // 3: tenure.v1.EnsureClaimResponse
	(*DeclareClaimsRequest)(nil),  // 4: tenure.v1.DeclareClaimsRequest
	(*DeclareClaimsResponse)(nil), // 5: tenure.v1.DeclareClaimsResponse
	(*ReleaseClaimRequest)(nil),   // 6: tenure.v1.ReleaseClaimRequest
	(*ReleaseClaimResponse)(nil),  // 7: tenure.v1.ReleaseClaimResponse
	(*ListClaimsRequest)(nil),     // 8: tenure.v1.ListClaimsRequest
	(*ListClaimsResponse)(nil),    // 9: tenure.v1.ListClaimsResponse
	(*WatchClaimsRequest)(nil),    // 10: tenure.v1.WatchClaimsRequest
	(*WatchClaimsResponse)(nil),   // 11: tenure.v1.WatchClaimsResponse
	(*ClaimId)(nil),               // 12: tenure.v1.ClaimId
	(*EndedClaim)(nil),            // 13: tenure.v1.EndedClaim
	(*Claim)(nil),                 // 14: tenure.v1.Claim
	(*MissingFamily)(nil),         // 15: tenure.v1.MissingFamily
	(*ClaimAddress)(nil),          // 16: tenure.v1.ClaimAddress
	(*NetworkRoutes)(nil),         // 17: tenure.v1.NetworkRoutes
	(*ClaimRoute)(nil),            // 18: tenure.v1.ClaimRoute
	nil,                           // 19: tenure.v1.ClaimAddress.PoolAttributesEntry
	nil,                           // 20: tenure.v1.ClaimAddress.RangeAttributesEntry
	nil,                           // 21: tenure.v1.ClaimAddress.AttributesEntry
}
var file_tenure_v1_claims_proto_depIdxs = []int32{
	0,  // 0: tenure.v1.ClaimSpec.families:type_name -> tenure.v1.Family
	0,  // 1: tenure.v1.ClaimSpec.optional_families:type_name -> tenure.v1.Family
	1,  // 2: tenure.v1.EnsureClaimRequest.claim:type_name -> tenure.v1.ClaimSpec
	14, // 3: tenure.v1.EnsureClaimResponse.claim:type_name -> tenure.v1.Claim
	1,  // 4: tenure.v1.DeclareClaimsRequest.claims:type_name -> tenure.v1.ClaimSpec
	14, // 5: tenure.v1.DeclareClaimsResponse.created:type_name -> tenure.v1.Claim
	14, // 6: tenure.v1.DeclareClaimsResponse.kept:type_name -> tenure.v1.Claim
	12, // 7: tenure.v1.DeclareClaimsResponse.released:type_name -> tenure.v1.ClaimId
	17, // 8: tenure.v1.DeclareClaimsResponse.routes:type_name -> tenure.v1.NetworkRoutes
	12, // 9: tenure.v1.ReleaseClaimRequest.claim:type_name -> tenure.v1.ClaimId
	14, // 10: tenure.v1.ListClaimsResponse.claims:type_name -> tenure.v1.Claim
	17, // 11: tenure.v1.ListClaimsResponse.routes:type_name -> tenure.v1.NetworkRoutes
	14, // 12: tenure.v1.WatchClaimsResponse.claims:type_name -> tenure.v1.Claim
	13, // 13: tenure.v1.WatchClaimsResponse.ended:type_name -> tenure.v1.EndedClaim
	17, // 14: tenure.v1.WatchClaimsResponse.routes:type_name -> tenure.v1.NetworkRoutes
	12, // 15: tenure.v1.EndedClaim.claim:type_name -> tenure.v1.ClaimId
	16, // 16: tenure.v1.Claim.addresses:type_name -> tenure.v1.ClaimAddress
	18, // 17: tenure.v1.Claim.routes:type_name -> tenure.v1.ClaimRoute
	15, // 18: tenure.v1.Claim.missing_families:type_name -> tenure.v1.MissingFamily
	0,  // 19: tenure.v1.MissingFamily.family:type_name -> tenure.v1.Family
	19, // 20: tenure.v1.ClaimAddress.pool_attributes:type_name -> tenure.v1.ClaimAddress.PoolAttributesEntry
	20, // 21: tenure.v1.ClaimAddress.range_attributes:type_name -> tenure.v1.ClaimAddress.RangeAttributesEntry
	21, // 22: tenure.v1.ClaimAddress.attributes:type_name -> tenure.v1.ClaimAddress.AttributesEntry
	18, // 23: tenure.v1.NetworkRoutes.routes:type_name -> tenure.v1.ClaimRoute
	2,  // 24: tenure.v1.Claims.Ensure:input_type -> tenure.v1.EnsureClaimRequest
	4,  // 25: tenure.v1.Claims.Declare:input_type -> tenure.v1.DeclareClaimsRequest
	6,  // 26: tenure.v1.Claims.Release:input_type -> tenure.v1.ReleaseClaimRequest
	8,  // 27: tenure.v1.Claims.List:input_type -> tenure.v1.ListClaimsRequest
	10, // 28: tenure.v1.Claims.Watch:input_type -> tenure.v1.WatchClaimsRequest
	3,  // 29: tenure.v1.Claims.Ensure:output_type -> tenure.v1.EnsureClaimResponse
	5,  // 30: tenure.v1.Claims.Declare:output_type -> tenure.v1.DeclareClaimsResponse
	7,  // 31: tenure.v1.Claims.Release:output_type -> tenure.v1.ReleaseClaimResponse
	9,  // 32: tenure.v1.Claims.List:output_type -> tenure.v1.ListClaimsResponse
	11, // 33: tenure.v1.Claims.Watch:output_type -> tenure.v1.WatchClaimsResponse
	29, // [29:34] is the sub-list for method output_type
	24, // [24:29] is the sub-list for method input_type
	24, // [24:24] is the sub-list for extension type_name
	24, // [24:24] is the sub-list for extension extendee
	0,  // [0:24] is the sub-list for field type_name
}

func init() { file_tenure_v1_claims_proto_init() }
func file_tenure_v1_claims_proto_init() {
	if File_tenure_v1_claims_proto != nil {
		return
	}
	file_tenure_v1_claims_proto_msgTypes[1].OneofWrappers = []any{}
	file_tenure_v1_claims_proto_msgTypes[3].OneofWrappers = []any{}
	file_tenure_v1_claims_proto_msgTypes[5].OneofWrappers = []any{}
	file_tenure_v1_claims_proto_msgTypes[7].OneofWrappers = []any{}
	file_tenure_v1_claims_proto_msgTypes[9].OneofWrappers = []any{}
	file_tenure_v1_claims_proto_msgTypes[17].OneofWrappers = []any{}
	type x struct{}
	out := protoimpl.TypeBuilder{
		File: protoimpl.DescBuilder{
			GoPackagePath: reflect.TypeOf(x{}).PkgPath(),
			RawDescriptor: unsafe.Slice(unsafe.StringData(file_tenure_v1_claims_proto_rawDesc), len(file_tenure_v1_claims_proto_rawDesc)),
			NumEnums:      1,
			NumMessages:   21,
			NumExtensions: 0,
			NumServices:   1,
		},
		GoTypes:           file_tenure_v1_claims_proto_goTypes,
		DependencyIndexes: file_tenure_v1_claims_proto_depIdxs,
		EnumInfos:         file_tenure_v1_claims_proto_enumTypes,
		MessageInfos:      file_tenure_v1_claims_proto_msgTypes,
	}.Build()
	File_tenure_v1_claims_proto = out.File
	file_tenure_v1_claims_proto_goTypes = nil
	file_tenure_v1_claims_proto_depIdxs = nil
}
