//! The meaning of EC2's error codes and messages, as one pure function.
//!
//! The codes are those of AWS's list of EC2's errors. EC2 uses `InvalidParameterValue` for conditions that have a code of
//! their own elsewhere; only the message tells them apart. What is in no table follows the HTTP status, and what has no code
//! was not written by EC2: then nobody knows whether the call was carried out.

use crate::port::Failure;

/// An answer that is not a success.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer<'a> {
    /// The HTTP status.
    pub(crate) status: u16,
    /// EC2's code; empty if the answer had none.
    pub(crate) code: &'a str,
    /// EC2's message.
    pub(crate) message: &'a str,
}

/// Codes that mean the same with any message.
const CODES: &[(&str, Failure)] = &[
    ("AccessDenied", Failure::Denied),
    ("AccessDeniedException", Failure::Denied),
    ("AttachmentLimitExceeded", Failure::InstanceFull),
    ("AuthFailure", Failure::Denied),
    ("Blocked", Failure::Denied),
    ("ConcurrentTagAccess", Failure::Throttled),
    ("EC2ThrottledException", Failure::Throttled),
    ("ExpiredToken", Failure::Denied),
    ("ExpiredTokenException", Failure::Denied),
    ("IdempotentParameterMismatch", Failure::TokenReused),
    ("IncompleteSignature", Failure::Denied),
    ("IncorrectInstanceState", Failure::InstanceState),
    ("InsufficientCidrBlocks", Failure::NoBlock),
    ("InsufficientFreeAddressesInSubnet", Failure::SubnetExhausted),
    ("InternalError", Failure::Unknown),
    ("InternalFailure", Failure::Unknown),
    ("InvalidAttachment.NotFound", Failure::NotFound),
    ("InvalidAttachmentID.NotFound", Failure::NotFound),
    ("InvalidClientTokenId", Failure::Denied),
    ("InvalidGroup.NotFound", Failure::Configuration),
    ("InvalidGroupId.Malformed", Failure::Configuration),
    // The node's own instance is not yet, or no longer, one.
    ("InvalidInstanceID.NotFound", Failure::InstanceState),
    ("InvalidNetworkInterface.InUse", Failure::InUse),
    ("InvalidNetworkInterface.NotFound", Failure::NotFound),
    ("InvalidNetworkInterfaceID.NotFound", Failure::NotFound),
    ("InvalidSecurityGroupID.NotFound", Failure::Configuration),
    ("InvalidSubnet", Failure::Configuration),
    ("InvalidSubnetID.NotFound", Failure::Configuration),
    ("MissingAuthenticationToken", Failure::Denied),
    ("NetworkInterfaceLimitExceeded", Failure::Quota),
    ("OptInRequired", Failure::Denied),
    ("PendingVerification", Failure::Denied),
    ("PrivateIpAddressLimitExceeded", Failure::InterfaceFull),
    ("RequestExpired", Failure::Denied),
    ("RequestLimitExceeded", Failure::Throttled),
    ("RequestThrottled", Failure::Throttled),
    ("RequestThrottledException", Failure::Throttled),
    ("SecurityGroupsPerInterfaceLimitExceeded", Failure::Configuration),
    ("ServiceUnavailable", Failure::Unknown),
    ("SignatureDoesNotMatch", Failure::Denied),
    ("SlowDown", Failure::Throttled),
    ("Throttling", Failure::Throttled),
    ("ThrottlingException", Failure::Throttled),
    ("TooManyRequestsException", Failure::Throttled),
    ("UnauthorizedOperation", Failure::Denied),
    ("Unavailable", Failure::Unknown),
    ("UnrecognizedClientException", Failure::Denied),
];

/// Parts of messages with `InvalidParameterValue`, in lower case. The first that fits counts.
const VALUES: &[(&str, Failure)] = &[
    ("sufficient free", Failure::TooFew),
    ("already has an interface attached at device index", Failure::IndexTaken),
    ("not assigned to", Failure::NotAssigned),
    ("in use", Failure::InUse),
];

/// Interprets the answer to an action.
pub(crate) fn meaning(action: &str, answer: Answer<'_>) -> Failure {
    let message = answer.message.to_ascii_lowercase();
    let says = |part: &str| message.contains(part);
    match answer.code {
        "" => Failure::Unknown,
        "InvalidParameterValue" => {
            VALUES.iter().find(|(part, _)| says(part)).map_or(Failure::Refused, |(_, failure)| *failure)
        }
        // Of the instance, or of an attachment that is detaching already.
        "IncorrectState" if says("detach") && !says("instance") => Failure::InUse,
        "IncorrectState" => Failure::InstanceState,
        // To read, it means that the question was too broad.
        "OperationNotPermitted" if action.starts_with("Describe") => Failure::Refused,
        "OperationNotPermitted" => Failure::Never,
        code => match CODES.iter().find(|(known, _)| *known == code) {
            Some((_, failure)) => *failure,
            None if answer.status == 429 => Failure::Throttled,
            None if answer.status >= 500 => Failure::Unknown,
            None => Failure::Refused,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_meaning() {
        let cases = [
            (
                "CreateNetworkInterface",
                400,
                "InsufficientFreeAddressesInSubnet",
                "",
                Failure::SubnetExhausted,
            ),
            ("AssignPrivateIpAddresses", 400, "InsufficientCidrBlocks", "", Failure::NoBlock),
            (
                "AssignPrivateIpAddresses",
                400,
                "InvalidParameterValue",
                "There aren't sufficient free Ipv4 addresses or prefixes in subnet 'subnet-1'",
                Failure::TooFew,
            ),
            ("AssignPrivateIpAddresses", 400, "PrivateIpAddressLimitExceeded", "", Failure::InterfaceFull),
            ("AttachNetworkInterface", 400, "AttachmentLimitExceeded", "", Failure::InstanceFull),
            (
                "AttachNetworkInterface",
                400,
                "InvalidParameterValue",
                "Instance 'i-1' already has an interface attached at device index '1'.",
                Failure::IndexTaken,
            ),
            ("AttachNetworkInterface", 400, "InvalidNetworkInterface.InUse", "", Failure::InUse),
            ("AttachNetworkInterface", 400, "InvalidInstanceID.NotFound", "", Failure::InstanceState),
            (
                "AttachNetworkInterface",
                400,
                "IncorrectState",
                "Instance 'i-1' is not in the 'running' or 'stopped' state.",
                Failure::InstanceState,
            ),
            (
                "DetachNetworkInterface",
                400,
                "IncorrectState",
                "The attachment 'eni-attach-1' is being detached.",
                Failure::InUse,
            ),
            (
                "DetachNetworkInterface",
                400,
                "IncorrectState",
                "The instance is not in the 'running' or 'stopped' state; detaching failed.",
                Failure::InstanceState,
            ),
            (
                "DeleteNetworkInterface",
                400,
                "InvalidParameterValue",
                "Network interface 'eni-1' is currently in use.",
                Failure::InUse,
            ),
            (
                "UnassignPrivateIpAddresses",
                400,
                "InvalidParameterValue",
                "Some of the specified addresses are not assigned to interface eni-1",
                Failure::NotAssigned,
            ),
            ("CreateTags", 400, "InvalidParameterValue", "Tag keys starting with 'aws:'", Failure::Refused),
            ("DetachNetworkInterface", 400, "OperationNotPermitted", "", Failure::Never),
            ("DescribeNetworkInterfaces", 400, "OperationNotPermitted", "", Failure::Refused),
            ("CreateNetworkInterface", 400, "NetworkInterfaceLimitExceeded", "", Failure::Quota),
            ("DeleteNetworkInterface", 400, "InvalidNetworkInterfaceID.NotFound", "", Failure::NotFound),
            ("DetachNetworkInterface", 400, "InvalidAttachmentID.NotFound", "", Failure::NotFound),
            ("CreateNetworkInterface", 400, "InvalidSubnetID.NotFound", "", Failure::Configuration),
            ("CreateNetworkInterface", 400, "InvalidGroup.NotFound", "", Failure::Configuration),
            ("CreateNetworkInterface", 400, "InvalidSecurityGroupID.NotFound", "", Failure::Configuration),
            ("CreateNetworkInterface", 400, "IdempotentParameterMismatch", "", Failure::TokenReused),
            ("CreateNetworkInterface", 403, "UnauthorizedOperation", "", Failure::Denied),
            ("CreateNetworkInterface", 401, "AuthFailure", "", Failure::Denied),
            ("CreateNetworkInterface", 400, "ExpiredToken", "", Failure::Denied),
            ("CreateNetworkInterface", 400, "RequestExpired", "", Failure::Denied),
            ("CreateNetworkInterface", 503, "RequestLimitExceeded", "", Failure::Throttled),
            ("CreateNetworkInterface", 400, "Throttling", "", Failure::Throttled),
            ("CreateNetworkInterface", 429, "Busy", "", Failure::Throttled),
            ("CreateTags", 400, "ConcurrentTagAccess", "", Failure::Throttled),
            ("CreateNetworkInterface", 500, "InternalError", "", Failure::Unknown),
            ("CreateNetworkInterface", 503, "Unavailable", "", Failure::Unknown),
            ("CreateNetworkInterface", 503, "Overload", "", Failure::Unknown),
            // Not EC2's words: of a proxy, or half an answer.
            ("CreateNetworkInterface", 200, "", "", Failure::Unknown),
            ("CreateNetworkInterface", 403, "", "", Failure::Unknown),
            ("CreateNetworkInterface", 503, "", "", Failure::Unknown),
            ("CreateNetworkInterface", 400, "UnknownParameter", "", Failure::Refused),
            ("DescribeInstanceTypes", 400, "InvalidInstanceType", "", Failure::Refused),
            ("AssignPrivateIpAddresses", 400, "UnsupportedOperation", "", Failure::Refused),
        ];
        for (action, status, code, message, expected) in cases {
            let answer = Answer { status, code, message };
            assert_eq!(meaning(action, answer), expected, "{action}: {status} {code}: {message}");
        }
    }

    #[test]
    fn no_code_is_twice_in_the_table() {
        for pair in CODES.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} before {}", pair[0].0, pair[1].0);
        }
    }
}
