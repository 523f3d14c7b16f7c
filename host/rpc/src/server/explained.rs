//! Failures that no handler has seen get the `ErrorInfo` that every failure has: a deadline, what cannot be decoded, unknown methods.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tenure_types::{Error, ErrorCode};
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::{Code, Status};

use crate::status::to_status;

/// The header with the time that a caller allows.
const TIMEOUT: &str = "grpc-timeout";

/// Services whose failures are explained.
#[derive(Clone)]
pub(super) struct ExplainedServices<S> {
    pub(super) services: S,
}

impl<S> Service<http::Request<Body>> for ExplainedServices<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.services.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        // The server around this one has the same deadline and no words for it, and looks at this one first.
        let timeout = request.headers().get(TIMEOUT).and_then(|text| parse(text.to_str().ok()?));
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let uri = request.uri().clone();
        let answer = self.services.call(request);
        Box::pin(async move {
            let Some(until) = until else { return answer.await.map(|answer| explained(answer, uri.path())) };
            let Ok(answer) = timeout_at(until, answer).await else {
                let error =
                    Error::new(ErrorCode::DeadlineExceeded, "the call was not answered before its deadline");
                return Ok(to_status(&error).into_http());
            };
            answer.map(|answer| explained(answer, uri.path()))
        })
    }
}

/// The same answer, unless it is a failure without details.
fn explained(answer: http::Response<Body>, path: &str) -> http::Response<Body> {
    let status = Status::from_header_map(answer.headers()).filter(|status| status.details().is_empty());
    let Some(status) = status else { return answer };
    let Some(code) = code(status.code()) else { return answer };
    let error = match status.message() {
        "" => Error::new(code, format_args!("{path} failed: {}", status.code().description())),
        message => Error::new(code, message),
    };
    to_status(&error).into_http()
}

/// The error that a status of the gRPC library means; `None` for what is not a failure of ours, such as a service that health does not know.
fn code(code: Code) -> Option<ErrorCode> {
    Some(match code {
        Code::Unimplemented => ErrorCode::UnknownMethod,
        Code::DeadlineExceeded | Code::Cancelled => ErrorCode::DeadlineExceeded,
        // When it cannot decode a message, or that is too long.
        Code::Internal | Code::InvalidArgument | Code::OutOfRange | Code::ResourceExhausted => {
            ErrorCode::MalformedRequest
        }
        Code::Unknown => ErrorCode::Internal,
        _ => return None,
    })
}

/// The time in a header like `250m`: at most eight digits, and a unit.
fn parse(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok().filter(|_| number.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_those_of_grpc() {
        for (text, expected) in [
            ("250m", Some(Duration::from_millis(250))),
            ("2H", Some(Duration::from_secs(7200))),
            ("3M", Some(Duration::from_secs(180))),
            ("00000009S", Some(Duration::from_secs(9))),
            ("7u", Some(Duration::from_micros(7))),
            ("7n", Some(Duration::from_nanos(7))),
            ("123456789S", None),
            ("S", None),
            ("", None),
            ("5", None),
            ("5x", None),
            ("-5S", None),
            ("5é", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn what_has_details_or_is_no_failure_stays_as_it_is() {
        let own = to_status(&Error::new(ErrorCode::ClaimDenied, "why"));
        let unknown = Status::unimplemented("no such method");
        for (status, reason) in [(own, "claim-denied"), (unknown, "unknown-method")] {
            let answer = explained(status.into_http(), "/a/b");
            let told = Status::from_header_map(answer.headers()).unwrap();
            assert_eq!(crate::status::report(told.details()).unwrap().reason, reason);
        }
        let fine: http::Response<Body> = Status::ok("").into_http();
        let told = Status::from_header_map(explained(fine, "/a/b").headers()).unwrap();
        assert_eq!((told.code(), told.details().len()), (Code::Ok, 0));
    }
}
