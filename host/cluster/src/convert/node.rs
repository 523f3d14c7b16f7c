//! NodeIPAMs: both halves in both directions, since the agent writes what the operator reads, and the reverse.

use tenure_leases::block::RefusalReason;
use tenure_leases::node::PoolEcho;
use tenure_leases::{
    BlockHint, BlockMark, BlockName, BlockNameError, CallId, ClaimTurn, HeldBlock, HolderIdentity, MarkAck,
    MarkAnswer, NodeIpamSpec, NodeIpamStatus, PoolDemand, PoolKey, TurnClaim, TurnGuest, Uid,
};

use super::{ConversionError, cidr, count, object_name};
use crate::objects::node::{
    AcceptedIdentity, AckEntry, DemandEntry, EchoEntry, GuestEntry, HeldEntry, HintEntry, NodeIPAM,
    NodeIPAMSpec, NodeIPAMStatus, TurnEntry,
};
use crate::objects::reference::ClaimReference;

const IPV4: &str = "IPv4";
const IPV6: &str = "IPv6";

impl TryFrom<&NodeIPAM> for NodeIpamSpec {
    type Error = ConversionError;

    fn try_from(object: &NodeIPAM) -> Result<Self, ConversionError> {
        let (spec, left_out) = object.words()?;
        left_out.into_iter().next().map_or(Ok(spec), Err)
    }
}

impl NodeIPAM {
    /// Reads the node's words without the entries that this version cannot read, and says why it cannot read those. They cost the node itself something,
    /// such as a block that it wants, and nobody else.
    ///
    /// # Errors
    /// If the identity, an entry of `held` or a turn with a block cannot be read: then nobody knows what the node has.
    pub fn words(&self) -> Result<(NodeIpamSpec, Vec<ConversionError>), ConversionError> {
        let spec = &self.spec;
        let mut left_out = Vec::new();
        let mut claims = Vec::new();
        for entry in &spec.claims {
            match ClaimTurn::try_from(entry) {
                Ok(turn) => claims.push(turn),
                // No block has such a name.
                Err(error @ ConversionError::BlockName(_)) => left_out.push(error),
                Err(error) => return Err(error),
            }
        }
        let uid = |uid: &String| -> Result<Uid, ConversionError> { Ok(uid.parse()?) };
        let words = NodeIpamSpec {
            identity: HolderIdentity {
                name: object_name(&self.metadata)?.into(),
                uid: spec.node_uid.parse()?,
                machine: spec.machine.parse()?,
                boot: spec.boot_id.parse()?,
            },
            held: spec.held.iter().map(HeldBlock::try_from).collect::<Result<_, _>>()?,
            demand: readable(&spec.demand, &mut left_out, PoolDemand::try_from),
            idle: readable(&spec.idle, &mut left_out, uid),
            returned: readable(&spec.returned, &mut left_out, uid),
            acks: readable(&spec.acks, &mut left_out, MarkAck::try_from),
            pools: readable(&spec.pools, &mut left_out, PoolEcho::try_from),
            claims,
            heard: readable(spec.heard.as_slice(), &mut left_out, |call| Ok(call.parse()?)).pop(),
        };
        Ok((words, left_out))
    }
}

/// The entries that can be read; notes why the others cannot.
fn readable<'a, E, T>(
    entries: &'a [E],
    left_out: &mut Vec<ConversionError>,
    read: impl Fn(&'a E) -> Result<T, ConversionError>,
) -> Vec<T> {
    let read = |entry| read(entry).map_err(|error| left_out.push(error)).ok();
    entries.iter().filter_map(read).collect()
}

impl From<&NodeIpamSpec> for NodeIPAMSpec {
    fn from(spec: &NodeIpamSpec) -> Self {
        let words = |uids: &[Uid]| uids.iter().map(ToString::to_string).collect();
        Self {
            node_uid: spec.identity.uid.to_string(),
            machine: spec.identity.machine.to_string(),
            boot_id: spec.identity.boot.to_string(),
            held: spec.held.iter().map(HeldEntry::from).collect(),
            demand: spec.demand.iter().map(DemandEntry::from).collect(),
            idle: words(&spec.idle),
            returned: words(&spec.returned),
            acks: spec.acks.iter().map(AckEntry::from).collect(),
            pools: spec.pools.iter().map(EchoEntry::from).collect(),
            claims: spec.claims.iter().map(TurnEntry::from).collect(),
            heard: spec.heard.map(|call| call.to_string()),
        }
    }
}

impl TryFrom<&NodeIPAM> for NodeIpamStatus {
    type Error = ConversionError;

    fn try_from(object: &NodeIPAM) -> Result<Self, ConversionError> {
        let Some(status) = &object.status else { return Ok(Self::default()) };
        Ok(Self {
            accepted: accepted(object, status)?,
            blocks: status.blocks.iter().map(BlockHint::try_from).collect::<Result<_, _>>()?,
            call: call(status)?,
        })
    }
}

/// Reads the identity whose blocks count as the node's.
fn accepted(object: &NodeIPAM, status: &NodeIPAMStatus) -> Result<Option<HolderIdentity>, ConversionError> {
    let Some(identity) = &status.accepted else { return Ok(None) };
    Ok(Some(HolderIdentity {
        name: object_name(&object.metadata)?.into(),
        uid: identity.node_uid.parse()?,
        machine: identity.machine.parse()?,
        boot: identity.boot_id.parse()?,
    }))
}

/// Reads the operator's call.
fn call(status: &NodeIPAMStatus) -> Result<Option<CallId>, ConversionError> {
    Ok(status.call.as_deref().map(str::parse).transpose()?)
}

/// The operator's half as far as this version can read it. A word of a later version in one hint takes nothing from the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadStatus {
    /// The part that could be read.
    pub told: NodeIpamStatus,
    /// Refusals of the marks that could not be read.
    pub refused: Vec<MarkAck>,
    /// The reasons for which the rest could not.
    pub errors: Vec<ConversionError>,
}

impl ReadStatus {
    /// Reads the operator's half.
    #[must_use]
    pub fn of(object: &NodeIPAM) -> Self {
        let mut read = Self::default();
        let Some(status) = &object.status else { return read };
        for entry in &status.blocks {
            match BlockHint::try_from(entry) {
                Ok(hint) => read.told.blocks.push(hint),
                Err(error) => {
                    read.errors.push(error);
                    read.refused.extend(refusal(entry));
                }
            }
        }
        match accepted(object, status) {
            Ok(accepted) => read.told.accepted = accepted,
            Err(error) => read.errors.push(error),
        }
        match call(status) {
            Ok(call) => read.told.call = call,
            Err(error) => read.errors.push(error),
        }
        read
    }
}

/// The answer to the mark of a hint that cannot be read; `None` if it has none, or one without a readable id.
fn refusal(entry: &HintEntry) -> Option<MarkAck> {
    let (uid, mark) = (entry.uid.parse().ok()?, entry.mark.as_ref()?.id.parse().ok()?);
    Some(MarkAck { uid, mark, answer: MarkAnswer::Refused(RefusalReason::Unknown) })
}

impl From<&HolderIdentity> for AcceptedIdentity {
    fn from(identity: &HolderIdentity) -> Self {
        Self {
            node_uid: identity.uid.to_string(),
            machine: identity.machine.to_string(),
            boot_id: identity.boot.to_string(),
        }
    }
}

impl HintEntry {
    /// The entry of a hint, in an overlap group; `leaving` says whether the pool no longer has the block's CIDR.
    ///
    /// # Errors
    /// If the group or the CIDR cannot be part of a block's name.
    pub fn new(group: &str, hint: &BlockHint, leaving: bool) -> Result<Self, BlockNameError> {
        Ok(Self {
            name: BlockName::new(group, hint.cidr)?.to_string(),
            cidr: hint.cidr.to_string(),
            uid: hint.uid.to_string(),
            mark: hint.mark.map(Into::into),
            leaving,
        })
    }
}

impl TryFrom<&HintEntry> for BlockHint {
    type Error = ConversionError;

    fn try_from(entry: &HintEntry) -> Result<Self, ConversionError> {
        let mark = entry.mark.as_ref().map(BlockMark::try_from).transpose()?;
        Ok(Self { cidr: cidr(&entry.cidr)?, uid: entry.uid.parse()?, mark })
    }
}

impl TryFrom<&HeldEntry> for HeldBlock {
    type Error = ConversionError;

    fn try_from(entry: &HeldEntry) -> Result<Self, ConversionError> {
        let group = entry.group.as_deref().map(Into::into);
        Ok(Self { cidr: cidr(&entry.cidr)?, uid: entry.uid.parse()?, group })
    }
}

impl From<&HeldBlock> for HeldEntry {
    fn from(held: &HeldBlock) -> Self {
        let group = held.group.as_deref().map(str::to_owned);
        Self { cidr: held.cidr.to_string(), uid: held.uid.to_string(), group }
    }
}

impl TryFrom<&DemandEntry> for PoolDemand {
    type Error = ConversionError;

    fn try_from(entry: &DemandEntry) -> Result<Self, ConversionError> {
        let is_ipv6 = match entry.family.as_str() {
            IPV4 => false,
            IPV6 => true,
            word => {
                let word = word.to_owned();
                return Err(tenure_leases::UnknownWord { kind: "family", word }.into());
            }
        };
        Ok(Self {
            pool: PoolKey { name: entry.pool.as_str().into(), uid: entry.pool_uid.parse()? },
            is_ipv6,
            in_use: count("inUse", entry.in_use)?,
            cooling: count("cooling", entry.cooling)?,
            want: count("want", entry.want)?,
        })
    }
}

impl From<&PoolDemand> for DemandEntry {
    fn from(demand: &PoolDemand) -> Self {
        Self {
            pool: demand.pool.name.to_string(),
            pool_uid: demand.pool.uid.to_string(),
            family: if demand.is_ipv6 { IPV6 } else { IPV4 }.to_owned(),
            in_use: demand.in_use.into(),
            cooling: demand.cooling.into(),
            want: demand.want.into(),
        }
    }
}

impl TryFrom<&AckEntry> for MarkAck {
    type Error = ConversionError;

    fn try_from(entry: &AckEntry) -> Result<Self, ConversionError> {
        Ok(Self { uid: entry.uid.parse()?, mark: entry.mark_id.parse()?, answer: entry.answer.parse()? })
    }
}

impl From<&MarkAck> for AckEntry {
    fn from(ack: &MarkAck) -> Self {
        Self {
            uid: ack.uid.to_string(),
            mark_id: ack.mark.to_string(),
            answer: ack.answer.as_str().to_owned(),
        }
    }
}

impl TryFrom<&EchoEntry> for PoolEcho {
    type Error = ConversionError;

    fn try_from(entry: &EchoEntry) -> Result<Self, ConversionError> {
        Ok(Self {
            uid: entry.uid.parse()?,
            generation: count("generation", entry.generation)?,
            excluded_in_use: count("excludedInUse", entry.excluded_in_use)?,
        })
    }
}

impl From<&PoolEcho> for EchoEntry {
    fn from(echo: &PoolEcho) -> Self {
        Self {
            uid: echo.uid.to_string(),
            // A generation is an i64 in the API server.
            generation: echo.generation.try_into().unwrap_or(i64::MAX),
            excluded_in_use: echo.excluded_in_use.into(),
        }
    }
}

impl TryFrom<&TurnEntry> for ClaimTurn {
    type Error = ConversionError;

    fn try_from(entry: &TurnEntry) -> Result<Self, ConversionError> {
        let guest = |guest: &GuestEntry| -> Result<_, ConversionError> {
            Ok(TurnGuest { uid: guest.uid.parse()?, runs: guest.runs })
        };
        Ok(Self {
            block: entry.block.parse()?,
            turn: entry.turn.parse()?,
            state: entry.state.parse()?,
            pod: entry.pod.clone(),
            guest: entry.guest.as_ref().map(guest).transpose()?,
            claim: entry.claim.as_ref().and_then(turn_claim),
        })
    }
}

/// The claim of a turn; `None` if it is of a kind of a later version. The node has the address all the same.
fn turn_claim(claim: &ClaimReference) -> Option<TurnClaim> {
    let (kind, uid) = (claim.kind.parse().ok()?, claim.uid.parse().ok()?);
    Some(TurnClaim { kind, namespace: claim.namespace.clone(), name: claim.name.clone(), uid })
}

impl From<&TurnClaim> for ClaimReference {
    fn from(claim: &TurnClaim) -> Self {
        Self {
            kind: claim.kind.to_string(),
            namespace: claim.namespace.clone(),
            name: claim.name.clone(),
            uid: claim.uid.to_string(),
        }
    }
}

impl From<&ClaimTurn> for TurnEntry {
    fn from(turn: &ClaimTurn) -> Self {
        Self {
            block: turn.block.to_string(),
            turn: turn.turn.to_string(),
            state: turn.state.to_string(),
            pod: turn.pod.clone(),
            guest: turn.guest.map(|guest| GuestEntry { uid: guest.uid.to_string(), runs: guest.runs }),
            claim: turn.claim.as_ref().map(Into::into),
        }
    }
}
