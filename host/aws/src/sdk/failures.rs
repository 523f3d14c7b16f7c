//! The SDK's errors as the port's.

use std::error::Error;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};

use crate::codes::{self, Answer};
use crate::port::{CallError, Failure};

/// Converts a failed call to the port's error.
pub(super) fn failed<E>(action: &'static str, error: &SdkError<E, HttpResponse>) -> CallError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let response = error.raw_response();
    let status = response.map_or(0, |response| response.status().as_u16());
    let (failure, code, message) = match error {
        SdkError::ServiceError(answer) => {
            let (code, message) = (answer.err().code().unwrap_or(""), answer.err().message().unwrap_or(""));
            let failure = codes::meaning(action, Answer { status, code, message });
            if code.is_empty() {
                (failure, format!("HTTP status {status}"), "the answer has no error code".to_owned())
            } else {
                (failure, code.to_owned(), message.to_owned())
            }
        }
        // Nothing was sent: the request could not be made, or not be signed.
        SdkError::ConstructionFailure(_) => (Failure::Refused, "request".to_owned(), chain(error)),
        // Nothing was sent either, but not because something is denied: the metadata service, which has the credentials, may be silent,
        // and the SDK tells that in words alone. So it is tried again as soon as when EC2 is silent.
        _ if lacks_credentials(error) => (Failure::Unknown, "credentials".to_owned(), chain(error)),
        SdkError::TimeoutError(_) => (Failure::Unknown, "time-out".to_owned(), chain(error)),
        SdkError::ResponseError(_) => (Failure::Unknown, format!("HTTP status {status}"), chain(error)),
        // The connection failed, before or after the request was sent, or something that this version does not know.
        _ => (Failure::Unknown, "connection".to_owned(), chain(error)),
    };
    // Some causes have lines of their own; what is shown of an error is one.
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    CallError { action, failure, code, message, retry_after: response.and_then(retry_after) }
}

/// A call that EC2 answered with success, but not with what it should contain. It may have been carried out.
pub(super) fn incomplete(action: &'static str, missing: &str) -> CallError {
    let message = format!("the answer has no {missing}");
    CallError {
        action,
        failure: Failure::Unknown,
        code: "HTTP status 200".to_owned(),
        message,
        retry_after: None,
    }
}

/// The error with its causes: the SDK's own words name only the first, or end in all that it has.
fn chain(error: &dyn Error) -> String {
    let (mut words, mut cause) = (error.to_string(), error.source());
    while let Some(next) = cause {
        words = format!("{words}: {next}");
        cause = next.source();
    }
    words
}

/// Whether a call failed because no credentials were found.
fn lacks_credentials(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<CredentialsError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// After how long EC2 wants to be asked again: seconds, or milliseconds in AWS's own header.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let number = |name: &str| response.headers().get(name)?.trim().parse::<u64>().ok();
    let exact = number("x-amz-retry-after").map(Duration::from_millis);
    exact.or_else(|| number("retry-after").map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use aws_sdk_ec2::error::{ConnectorError, ErrorMetadata};
    use aws_sdk_ec2::operation::create_network_interface::CreateNetworkInterfaceError;

    use super::*;

    type Failed = SdkError<CreateNetworkInterfaceError, HttpResponse>;

    fn response(status: u16, header: Option<(&'static str, &'static str)>) -> HttpResponse {
        let mut response = HttpResponse::new(status.try_into().unwrap(), "".into());
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn service(code: Option<&str>, response: HttpResponse) -> Failed {
        let mut metadata = ErrorMetadata::builder().message("Words.");
        if let Some(code) = code {
            metadata = metadata.code(code);
        }
        SdkError::service_error(CreateNetworkInterfaceError::generic(metadata.build()), response)
    }

    fn call_error(error: &Failed) -> CallError {
        failed("CreateNetworkInterface", error)
    }

    #[test]
    fn each_way_to_fail_has_its_meaning() {
        let lost = || ConnectorError::io("reset".into());
        let unsigned = || ConnectorError::other(CredentialsError::not_loaded("none").into(), None);
        let cases: [(Failed, Failure, &str); 7] = [
            (
                service(Some("NetworkInterfaceLimitExceeded"), response(400, None)),
                Failure::Quota,
                "NetworkInterfaceLimitExceeded",
            ),
            (service(None, response(200, None)), Failure::Unknown, "HTTP status 200"),
            (SdkError::construction_failure("no"), Failure::Refused, "request"),
            (SdkError::timeout_error("late"), Failure::Unknown, "time-out"),
            (SdkError::dispatch_failure(lost()), Failure::Unknown, "connection"),
            (SdkError::dispatch_failure(unsigned()), Failure::Unknown, "credentials"),
            (SdkError::response_error("half", response(200, None)), Failure::Unknown, "HTTP status 200"),
        ];
        for (error, failure, code) in cases {
            let found = call_error(&error);
            assert_eq!((found.failure, found.code.as_str()), (failure, code), "{error:?}");
            assert_eq!(found.action, "CreateNetworkInterface");
        }
    }

    #[test]
    fn ec2_says_when_to_come_back() {
        let cases = [
            (None, None),
            (Some(("retry-after", "7")), Some(Duration::from_secs(7))),
            (Some(("x-amz-retry-after", "1500")), Some(Duration::from_millis(1500))),
            (Some(("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")), None),
        ];
        for (header, expected) in cases {
            let error = service(Some("RequestLimitExceeded"), response(503, header));
            let found = call_error(&error);
            assert_eq!((found.failure, found.retry_after), (Failure::Throttled, expected), "{header:?}");
        }
    }
}
