//! Errors on the wire: the only place that maps an [`ErrorCode`] to a gRPC code, and an [`Error`] to a status and back.
//!
//! A status carries a `google.rpc.Status` with one `google.rpc.ErrorInfo` in its `grpc-status-details-bin`. The messages are
//! defined here by hand because the CNI plugin reads them too and needs nothing else of Google's protos.

use std::collections::BTreeMap;

use prost::Message;
use tenure_types::cni::ErrorReport;
use tenure_types::{Error, ErrorCode};

/// The `ErrorInfo.domain` of tenure's own errors.
pub const DOMAIN: &str = "tenure";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// A gRPC status code, with the specification's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum GrpcCode {
    /// The request is invalid in any state of the node.
    InvalidArgument = 3,
    /// The deadline passed.
    DeadlineExceeded = 4,
    /// The requested object does not exist.
    NotFound = 5,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// Addresses, networks, disk space or places in a queue are exhausted.
    ResourceExhausted = 8,
    /// The request is valid, but not in the node's current state.
    FailedPrecondition = 9,
    /// A later request has superseded this one.
    Aborted = 10,
    /// The service has no such method.
    Unimplemented = 12,
    /// Something on the node is broken.
    Internal = 13,
    /// Retrying later may succeed.
    Unavailable = 14,
}

/// The gRPC code of an error code.
#[must_use]
pub fn grpc_code(code: ErrorCode) -> GrpcCode {
    use ErrorCode as E;
    match code {
        E::IncompatibleVersion
        | E::InvalidEnvironment
        | E::MalformedConfig
        | E::InvalidConfig
        | E::ClaimInvalid
        | E::MalformedRequest
        | E::HostNetns => GrpcCode::InvalidArgument,
        E::UnknownMethod => GrpcCode::Unimplemented,
        E::ClaimDenied | E::AgentUnknown | E::RequestDenied => GrpcCode::PermissionDenied,
        E::DeadlineExceeded => GrpcCode::DeadlineExceeded,
        E::UnknownAttachment | E::ClaimUnknown | E::UnknownPolicy | E::UnknownNetwork | E::UnknownAddress => {
            GrpcCode::NotFound
        }
        E::Overloaded | E::PoolExhausted | E::OverQuota | E::DiskFull | E::TooManyNetworks => {
            GrpcCode::ResourceExhausted
        }
        E::NotTakenOver
        | E::AddressUnavailable
        | E::PolicyRefused
        | E::PolicyUnloadable
        | E::OutOfBounds
        | E::RangesWouldChange
        | E::ClaimDiffers
        | E::ClaimOfAnotherScope
        | E::ClaimSuperseded
        | E::NetworkInUse => GrpcCode::FailedPrecondition,
        E::Superseded => GrpcCode::Aborted,
        E::Unreachable
        | E::NotReady
        | E::Stopping
        | E::Preparing
        | E::NotYet
        | E::PolicyBenched
        | E::DelegateUnavailable
        | E::Unavailable
        | E::CheckpointFailed => GrpcCode::Unavailable,
        // I/O errors, defects of a policy, internal errors; and error codes that are not listed here yet.
        _ => GrpcCode::Internal,
    }
}

/// The details of a status: a `google.rpc.Status` with the error's `ErrorInfo`.
#[must_use]
pub fn details(error: &Error) -> Vec<u8> {
    let mut metadata = BTreeMap::from([
        ("cni_code".to_owned(), error.code.cni().to_string()),
        ("next_step".to_owned(), error.next_step().to_owned()),
    ]);
    metadata.extend(error.reference.iter().map(|text| ("reference".to_owned(), text.to_string())));
    let info = ErrorInfo { reason: error.code.name().to_owned(), domain: DOMAIN.to_owned(), metadata };
    let detail = Any { type_url: ERROR_INFO.to_owned(), value: info.encode_to_vec() };
    let status =
        RpcStatus { code: grpc_code(error.code) as i32, message: error.cause.clone(), details: vec![detail] };
    status.encode_to_vec()
}

/// Decodes the details of a status; `None` if they are not tenure's.
///
/// The daemon may be newer than the reader, so a report with an unknown reason is returned as it is.
#[must_use]
pub fn report(details: &[u8]) -> Option<ErrorReport> {
    let status = RpcStatus::decode(details).ok()?;
    let detail = status.details.iter().find(|detail| detail.type_url == ERROR_INFO)?;
    let mut info = ErrorInfo::decode(detail.value.as_slice()).ok()?;
    if info.domain != DOMAIN {
        return None;
    }
    let code = info.metadata.get("cni_code").and_then(|code| code.parse().ok()).filter(|code| *code != 0);
    Some(ErrorReport {
        code: code.unwrap_or_else(|| ErrorCode::Internal.cni()),
        reason: info.reason,
        cause: status.message,
        next_step: info.metadata.remove("next_step").unwrap_or_default(),
        reference: info.metadata.remove("reference"),
    })
}

/// The status for an error.
#[cfg(feature = "server")]
#[must_use]
pub fn to_status(error: &Error) -> tonic::Status {
    let code = tonic::Code::from_i32(grpc_code(error.code) as i32);
    tonic::Status::with_details(code, &error.cause, details(error).into())
}

/// The error in a status. A status that is not tenure's own means that the daemon was not reached, or that its answer is too long.
#[cfg(feature = "client")]
#[must_use]
pub fn from_status(status: &tonic::Status) -> Error {
    match report(status.details()) {
        Some(report) => {
            let error = match ErrorCode::from_name(&report.reason) {
                Some(code) => Error::new(code, report.cause),
                None => Error::new(ErrorCode::Internal, format_args!("{}: {}", report.reason, report.cause)),
            };
            let error = Error { reference: report.reference.map(String::into_boxed_str), ..error };
            match report.next_step {
                step if step.is_empty() || step == error.next_step() => error,
                step => error.to_be_solved_by(step),
            }
        }
        None if status.code() == tonic::Code::DeadlineExceeded => {
            Error::new(ErrorCode::DeadlineExceeded, status.message())
        }
        // The reader's own, about an answer that has arrived.
        None if status.code() == tonic::Code::OutOfRange => Error::new(ErrorCode::TooLong, status.message()),
        None => Error::new(ErrorCode::Unreachable, status.message()),
    }
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_survives_the_wire() {
        for code in ErrorCode::ALL {
            let error = Error::new(*code, "the cause: é");
            assert_eq!(report(&details(&error)), Some(ErrorReport::from(&error)));
            let error = error.told_as("the reference: é");
            assert_eq!(report(&details(&error)), Some(ErrorReport::from(&error)));
        }
    }

    #[test]
    fn a_newer_daemons_error_is_told_as_it_is() {
        let info = ErrorInfo {
            reason: "from-the-future".into(),
            domain: DOMAIN.into(),
            metadata: BTreeMap::from([
                ("cni_code".into(), "150".into()),
                ("next_step".into(), "wait".into()),
            ]),
        };
        let detail = Any { type_url: ERROR_INFO.into(), value: info.encode_to_vec() };
        let status = RpcStatus { code: 9, message: "why".into(), details: vec![detail] };
        let report = report(&status.encode_to_vec()).unwrap();
        assert_eq!((report.code, report.reason.as_str()), (150, "from-the-future"));
        assert_eq!((report.cause.as_str(), report.next_step.as_str()), ("why", "wait"));
    }

    /// Regression: a delegate that was away counted as a defect, and not as something to wait for.
    #[test]
    fn the_protocol_of_agents_says_each_reason_with_its_code() {
        let proto = include_str!("../proto/tenure/v1/claims.proto");
        let rows = proto.lines().filter_map(|line| line.strip_prefix("//   "));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
        assert!(rows.len() > 20);
        for row in rows {
            let code = ErrorCode::from_name(row[0]).unwrap_or_else(|| panic!("{row:?}"));
            let named = format!("{:?}", grpc_code(code));
            let words = named.char_indices().map(|(place, letter)| match letter {
                'A'..='Z' if place > 0 => format!("_{letter}"),
                _ => letter.to_uppercase().to_string(),
            });
            assert_eq!(row[1], words.collect::<String>(), "{row:?}");
            assert!(row[2].starts_with("yes") || row[2].starts_with("no"), "{row:?}");
        }
    }

    #[test]
    fn what_is_not_ours_is_no_report() {
        assert_eq!(report(b""), None);
        assert_eq!(report(b"\xff\xff\xff"), None);
        let info = ErrorInfo { domain: "elsewhere".into(), ..ErrorInfo::default() };
        let detail = Any { type_url: ERROR_INFO.into(), value: info.encode_to_vec() };
        let status = RpcStatus { code: 9, message: String::new(), details: vec![detail] };
        assert_eq!(report(&status.encode_to_vec()), None);
    }

    #[cfg(all(feature = "server", feature = "client"))]
    #[test]
    fn a_status_is_the_error_again() {
        for code in ErrorCode::ALL {
            let error = Error::new(*code, "the cause");
            assert_eq!(from_status(&to_status(&error)), error);
            let error = error.told_as("the reference");
            assert_eq!(from_status(&to_status(&error)), error);
        }
        let long = tonic::Status::out_of_range("decoded message length too large");
        assert_eq!(from_status(&long).code, ErrorCode::TooLong);
        let foreign = tonic::Status::unimplemented("no such method");
        assert_eq!(from_status(&foreign), Error::new(ErrorCode::Unreachable, "no such method"));
    }
}
