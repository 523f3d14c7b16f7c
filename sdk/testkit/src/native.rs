//! A policy that is called as a plain function.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_sdk::native::call;
use tenure_sdk::{Config, Policy, Refusal};
use tenure_types::{Definition, Error, ErrorCode, NetworkConfig, NetworkName, Proposal, Request};

use crate::Subject;
use crate::convert;
use crate::host::{Defining, Serving};

/// A policy, called as a plain function on this thread.
#[derive(Debug)]
pub struct Native<P>(PhantomData<P>);

impl<P> Native<P> {
    /// The policy.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<P> Default for Native<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Policy> Subject for Native<P> {
    fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        let attributes: Vec<_> =
            config.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let config = Config::new(network.as_str(), &config.ipam, &attributes);
        let host = Rc::new(Defining(config.clone()));
        convert::definition(answer(|| call(host, || P::define(&config)))?)
    }

    fn propose(&self, request: &Request, book: &Arc<Book>) -> Result<Proposal, Error> {
        let (host, request) = (Rc::new(Serving(Arc::clone(book))), convert::request(request));
        convert::proposal(answer(|| call(host, || P::propose(&request)))?)
    }
}

/// A policy's answer. A panic fails the call, as a trap does in the sandbox.
fn answer<T>(function: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(answer) => answer.map_err(convert::refusal),
        Err(panic) => {
            Err(Error::new(ErrorCode::PolicyFailed, format_args!("it panicked: {}", message(&*panic))))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
