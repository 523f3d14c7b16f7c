//! From what a delegate printed to an answer or a failure.

use tenure_types::cni::{Received, Success};

use crate::child::{NOT_STARTED, NotStarted};
use crate::exchange::Printed;
use crate::failure::CallFailure;
use crate::text::clean;

/// The answer to an ADD. An error object counts with any exit code.
pub(crate) fn success(printed: &Printed) -> Result<Success, CallFailure> {
    started(printed)?;
    match Received::parse(&printed.output) {
        Ok(Received::Failure { code, message }) => Err(refused(code, &message)),
        Ok(Received::Success(success)) if printed.status.success() => Ok(success),
        Ok(Received::Success(_)) => Err(died(printed)),
        Err(_) if !printed.status.success() => Err(died(printed)),
        Err(error) => {
            let (why, shown) = (clean(error.cause.as_bytes()), clean(&printed.output));
            Err(CallFailure::Nonsense(format!("its output is not a CNI result: {why}; it printed {shown:?}")))
        }
    }
}

/// The answer to a verb that prints nothing if it succeeds.
pub(crate) fn silence(printed: &Printed) -> Result<(), CallFailure> {
    started(printed)?;
    match Received::parse(&printed.output) {
        Ok(Received::Failure { code, message }) => Err(refused(code, &message)),
        _ if printed.status.success() => Ok(()),
        _ => Err(died(printed)),
    }
}

/// Whether the delegate ran at all.
pub(crate) fn started(printed: &Printed) -> Result<(), CallFailure> {
    if printed.status.code() != Some(NOT_STARTED.into()) {
        return Ok(());
    }
    match serde_json::from_slice(&printed.output) {
        Ok(NotStarted { why }) => Err(CallFailure::Unusable(clean(why.as_bytes()))),
        Err(_) => Ok(()),
    }
}

fn refused(code: u32, message: &str) -> CallFailure {
    CallFailure::Refused { code, message: clean(message.as_bytes()) }
}

fn died(printed: &Printed) -> CallFailure {
    let said =
        [&printed.errors, &printed.output].into_iter().map(|said| clean(said)).find(|said| !said.is_empty());
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    CallFailure::Nonsense(format!("it ended with {} and without an answer{said}", printed.status))
}
