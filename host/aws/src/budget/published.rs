//! The buckets of EC2's calls.

use tenure_effects::budget::Published;

/// The buckets that AWS publishes, of an account in a region; other calls have [`OTHER`].
const PUBLISHED: &[(&str, Published)] = &[
    ("AssignIpv6Addresses", of(100, 5)),
    ("AssignPrivateIpAddresses", of(100, 5)),
    ("CreateNetworkInterface", of(100, 5)),
    ("CreateTags", of(100, 10)),
    ("DeleteNetworkInterface", of(100, 5)),
    ("DescribeInstanceTypes", of(100, 20)),
    ("DescribeNetworkInterfaces", of(100, 20)),
    ("DescribeSubnets", of(100, 20)),
    ("ModifyNetworkInterfaceAttribute", of(100, 5)),
    ("UnassignPrivateIpAddresses", of(100, 5)),
];

/// The buckets of other calls, such as Attach and Detach.
const OTHER: Published = of(50, 5);

/// The bucket of a call.
pub(super) fn published(call: &str) -> Published {
    let known = PUBLISHED.iter().find(|(name, _)| *name == call);
    known.map_or(OTHER, |(_, published)| *published)
}

const fn of(size: u64, refill: u64) -> Published {
    Published { size, refill }
}
