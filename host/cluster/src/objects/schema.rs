//! Schemas of fields that several kinds share.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use tenure_leases::block::RefusalReason;
use tenure_leases::{BlockPhase, ClaimKind, MarkAnswer, MarkReason, RangeState, RangeUse, TurnState};

/// The schema of a string that matches a pattern and is at most so long.
fn pattern(pattern: &str, length: u32) -> Schema {
    json_schema!({ "type": "string", "pattern": pattern, "maxLength": length })
}

/// The schema of a string that is one of these words.
fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Schema {
    let words: Vec<Value> = words.into_iter().map(Value::from).collect();
    json_schema!({ "type": "string", "enum": words })
}

/// A UUID in lower case.
pub fn uid(_: &mut SchemaGenerator) -> Schema {
    pattern("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", 36)
}

/// An optional UUID in lower case.
pub fn optional_uid(generator: &mut SchemaGenerator) -> Schema {
    nullable(uid(generator))
}

/// Up to 256 different UUIDs.
pub fn uids(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 256,
        "items": uid(generator),
        "x-kubernetes-list-type": "set",
    })
}

/// The name of an IPBlock, as far as a pattern says it: its group, its address and its prefix length.
pub fn block_name(_: &mut SchemaGenerator) -> Schema {
    pattern("^[a-z0-9]([a-z0-9-]*[a-z0-9])?[.][0-9a-f]+(-[0-9a-f]+)+[.][0-9]{1,3}$", 253)
}

/// Sixteen hexadecimal digits: the id of a mark or a range.
pub fn number(_: &mut SchemaGenerator) -> Schema {
    pattern("^[0-9a-f]{16}$", 16)
}

/// An optional id of a mark.
pub fn optional_number(generator: &mut SchemaGenerator) -> Schema {
    nullable(number(generator))
}

/// Thirty-two hexadecimal digits: the hash of a machine's identities.
pub fn machine(_: &mut SchemaGenerator) -> Schema {
    pattern("^[0-9a-f]{32}$", 32)
}

/// A label of a DNS name: the name of an overlap group.
pub fn group(_: &mut SchemaGenerator) -> Schema {
    pattern("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", 63)
}

/// An optional label of a DNS name.
pub fn optional_group(generator: &mut SchemaGenerator) -> Schema {
    nullable(group(generator))
}

/// The name of an object.
pub fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 253 })
}

/// A CIDR in its canonical form, with no bit set after its prefix.
pub fn cidr(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": 43,
        "x-kubernetes-validations": [{
            "rule": "isCIDR(self) && cidr(self) == cidr(self).masked() && string(cidr(self)) == self",
            "message": "must be a CIDR in canonical form without bits after its prefix, such as 10.1.0.0/16 or fd00:1::/64",
        }],
    })
}

/// An IP address in its canonical form.
pub fn optional_address(_: &mut SchemaGenerator) -> Schema {
    nullable(json_schema!({
        "type": "string",
        "maxLength": 39,
        "x-kubernetes-validations": [{
            "rule": "isIP(self) && ip.isCanonical(self)",
            "message": "must be an IP address in canonical form",
        }],
    }))
}

/// The CIDRs of a gateway's addresses: one for each family.
pub fn gateway_subnets(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 2,
        "items": cidr(generator),
        "x-kubernetes-list-type": "atomic",
    })
}

/// An optional CIDR.
pub fn optional_cidr(generator: &mut SchemaGenerator) -> Schema {
    nullable(cidr(generator))
}

/// The reason for a mark on a block.
pub fn mark_reason(_: &mut SchemaGenerator) -> Schema {
    one_of(MarkReason::ALL.iter().map(|word| word.as_str()))
}

/// The phase of a block.
pub fn phase(_: &mut SchemaGenerator) -> Schema {
    one_of(BlockPhase::ALL.iter().map(|word| word.as_str()))
}

/// The answer to a mark.
pub fn answer(_: &mut SchemaGenerator) -> Schema {
    let refusals = RefusalReason::ALL.iter().map(|reason| MarkAnswer::Refused(*reason));
    let answers = [MarkAnswer::Ready, MarkAnswer::Cordoned].into_iter().chain(refusals);
    one_of(answers.map(MarkAnswer::as_str))
}

/// The use of a range.
pub fn range_use(_: &mut SchemaGenerator) -> Schema {
    one_of(RangeUse::ALL.iter().map(|word| word.as_str()))
}

/// The use of a pool's addresses.
pub fn pool_usage(_: &mut SchemaGenerator) -> Schema {
    one_of([RangeUse::Blocks, RangeUse::Claims].map(RangeUse::as_str))
}

/// The kind of a claim. Before there were two, it was not said.
pub fn claim_kind(_: &mut SchemaGenerator) -> Schema {
    let mut schema = one_of(ClaimKind::ALL.iter().map(|word| word.as_str()));
    schema.insert("default".to_owned(), ClaimKind::Address.as_str().into());
    schema
}

/// How far a node's turn with a claim's address has come.
pub fn turn_state(_: &mut SchemaGenerator) -> Schema {
    one_of(TurnState::ALL.iter().map(|word| word.as_str()))
}

/// The phase of a claim.
pub fn claim_phase(_: &mut SchemaGenerator) -> Schema {
    one_of(["Pending", "Bound", "Leaving"])
}

/// An optional address family.
pub fn optional_family(generator: &mut SchemaGenerator) -> Schema {
    nullable(family(generator))
}

/// The state of a range.
pub fn range_state(_: &mut SchemaGenerator) -> Schema {
    one_of(RangeState::ALL.iter().map(|word| word.as_str()))
}

/// The prefix length of an IPv4 block.
pub fn ipv4_prefix(_: &mut SchemaGenerator) -> Schema {
    between(8, 32)
}

/// The prefix length of an IPv6 block.
pub fn ipv6_prefix(_: &mut SchemaGenerator) -> Schema {
    between(16, 128)
}

/// The prefix length of a cell.
pub fn unit(_: &mut SchemaGenerator) -> Schema {
    between(0, 128)
}

/// A whole number. The API server warns of the formats of small and unsigned ones, which it does not know.
fn between(minimum: u8, maximum: u8) -> Schema {
    json_schema!({ "type": "integer", "format": "int32", "minimum": minimum, "maximum": maximum })
}

/// A number of addresses, which this version counts in 32 bits.
pub fn addresses(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX })
}

/// An address family.
pub fn family(_: &mut SchemaGenerator) -> Schema {
    one_of(["IPv4", "IPv6"])
}

/// Lets a field be null.
fn nullable(mut schema: Schema) -> Schema {
    schema.insert("nullable".to_owned(), Value::Bool(true));
    schema
}
