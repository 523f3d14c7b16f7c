//! Identities: of objects, marks, machines and nodes. All are compared for equality only.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::UnknownWord;

/// `metadata.uid` of an object: a UUID. For an IPBlock it is the lease's epoch, since a lease that is granted again is another object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(pub u128);

/// The identity of one mark on one block, drawn at random by the operator. One mark's answer counts for no other mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MarkId(pub u64);

/// The identity of one turn of a node with a claim's address, drawn at random by the node's agent. A turn that ended never begins again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub u64);

/// A leader's call for the nodes' words, drawn at random by the operator. Only an agent that has read it can repeat it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// `metadata.resourceVersion`: etcd's revision of the last write to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectVersion(pub u64);

/// A hash of a machine's machine id and system UUID, which survives reboots and differs where either of them does.
///
/// Both are public in `Node.status.nodeInfo`, so the hash (FNV-1a with 128 bits) hides nothing. It makes one short field of the two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MachineHash(pub u128);

/// A node's identity, as its agent reports it and as an IPBlock names its holder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HolderIdentity {
    /// The Node's name.
    pub name: Arc<str>,
    /// The Node object's uid. A kubelet that registers again gets another.
    pub uid: Uid,
    /// The machine.
    pub machine: MachineHash,
    /// The kernel's boot id.
    pub boot: Uid,
}

impl Uid {
    /// Formats the UUID in its usual form, `8-4-4-4-12`.
    fn format(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        let part = |shift: u32, digits: u32| (value >> shift) & ((1 << (digits * 4)) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 8),
            part(80, 4),
            part(64, 4),
            part(48, 4),
            part(0, 12)
        )
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format(f)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format(f)
    }
}

impl FromStr for Uid {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let digits: String = word.chars().filter(|character| *character != '-').collect();
        let parsed = u128::from_str_radix(&digits, 16).map(Self);
        match parsed {
            Ok(uid) if uid.to_string().eq_ignore_ascii_case(word) => Ok(uid),
            _ => Err(UnknownWord { kind: "uid", word: word.to_owned() }),
        }
    }
}

/// Defines the fixed-width hexadecimal form of a number.
macro_rules! hexadecimal {
    ($name:ident, $number:ty, $width:literal, $kind:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{:0", $width, "x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match <$number>::from_str_radix(word, 16).map(Self) {
                    Ok(value) if value.to_string() == word => Ok(value),
                    _ => Err(UnknownWord { kind: $kind, word: word.to_owned() }),
                }
            }
        }
    };
}

hexadecimal!(MarkId, u64, "16", "mark id");
hexadecimal!(TurnId, u64, "16", "turn id");
hexadecimal!(CallId, u64, "16", "call id");
hexadecimal!(MachineHash, u128, "32", "machine");

impl MachineHash {
    /// Hashes the contents of `/etc/machine-id` and the firmware's system UUID, without regard to case and white space.
    ///
    /// # Errors
    /// If one of them is empty or consists of zeros, as firmware without an identity reports it: machines could then not be told apart.
    pub fn of(machine_id: &str, system_uuid: &str) -> Result<Self, UnknownWord> {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        for (kind, id) in [("machine id", machine_id), ("system UUID", system_uuid)] {
            let id = id.trim().to_ascii_lowercase();
            if id.chars().all(|character| matches!(character, '0' | '-')) {
                return Err(UnknownWord { kind, word: id });
            }
            for byte in id.bytes().chain([0]) {
                hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
            }
        }
        Ok(Self(hash))
    }
}

impl HolderIdentity {
    /// The holder of a claim's block that no node uses now. No Node has an empty name.
    #[must_use]
    pub fn nobody() -> Self {
        Self { name: "".into(), uid: Uid(0), machine: MachineHash(0), boot: Uid(0) }
    }

    /// Whether it is the same machine under the same name. Only then do `held`, `idle` and `acks` of a NodeIPAM count for a block.
    #[must_use]
    pub fn is_machine(&self, name: &str, machine: MachineHash) -> bool {
        &*self.name == name && self.machine == machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_as_they_are_written() {
        let uid: Uid = "7f1c2a9e-0001-4f6b-8a11-0123456789ab".parse().unwrap();
        assert_eq!(uid.to_string(), "7f1c2a9e-0001-4f6b-8a11-0123456789ab");
        for wrong in ["", "7f1c2a9e00014f6b8a110123456789ab", "7f1c2a9e-0001-4f6b-8a11-0123456789a", "+1"] {
            assert!(wrong.parse::<Uid>().is_err(), "{wrong}");
        }
        let mark: MarkId = "00000000000000ff".parse().unwrap();
        assert_eq!(mark, MarkId(255));
        assert_eq!("ff".parse::<MarkId>().unwrap_err().to_string(), "unknown mark id \"ff\"");
    }

    #[test]
    fn a_machine_is_both_of_its_ids() {
        let one = MachineHash::of("b08dfa6083e7567a1921a715000001fb\n", "4C4C4544-0042").unwrap();
        assert_eq!(one, MachineHash::of("b08dfa6083e7567a1921a715000001fb", "4c4c4544-0042").unwrap());
        assert_ne!(one, MachineHash::of("b08dfa6083e7567a1921a715000001fb", "4c4c4544-0043").unwrap());
        assert_ne!(one, MachineHash::of("b08dfa6083e7567a1921a715000001fc", "4c4c4544-0042").unwrap());
        assert_ne!(MachineHash::of("ab", "c").unwrap(), MachineHash::of("a", "bc").unwrap());
        assert!(MachineHash::of("", "4c4c4544").is_err());
        assert!(MachineHash::of("b08d", "00000000-0000-0000-0000-000000000000").is_err());
        assert_eq!(one.to_string().parse::<MachineHash>().unwrap(), one);
    }
}
