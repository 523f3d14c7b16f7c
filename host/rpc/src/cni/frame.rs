//! The part of an ADD's answer that is known before its addresses.

use tenure_types::cni::{Dns, Route, Success};
use tenure_types::{AssignedAddress, DELEGATED, Error, Result};

use crate::routes::routed;

/// An ADD's answer without its addresses.
pub(super) struct AnswerFrame {
    /// The call's own routes.
    pub(super) routes: Option<Vec<Route>>,
    pub(super) dns: Dns,
}

impl AnswerFrame {
    /// The answer with these addresses. A call without routes of its own gets those that are `defined`, as [`routed`] says.
    ///
    /// # Errors
    /// The error of the definition, if its routes are needed.
    pub(super) fn with(
        &self,
        addresses: &[AssignedAddress],
        defined: &Result<Vec<Route>>,
    ) -> Result<Success> {
        if addresses.first().is_some_and(|first| first.attributes.get(DELEGATED).is_some()) {
            // The routes and the DNS settings are the delegate's, too.
            return Ok(Success::of(addresses.to_vec()));
        }
        let defined = match &self.routes {
            Some(_) => &[],
            None => defined.as_ref().map_err(Error::clone)?.as_slice(),
        };
        let answer = Success { addresses: addresses.to_vec(), dns: self.dns.clone(), ..Success::default() };
        Ok(routed(answer, self.routes.clone(), defined))
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{Attributes, ErrorCode};

    use super::*;

    #[test]
    fn an_invalid_definition_refuses_only_a_call_that_needs_its_routes() {
        let invalid = Err(Error::new(ErrorCode::InvalidConfig, "ipam.routes[0].dst: not a subnet"));
        let plain = AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None);
        let mut delegated = plain.clone();
        delegated.attributes = Attributes::new([(DELEGATED, "foreign")]).unwrap();
        let answer = |routes: Option<Vec<Route>>, address: &AssignedAddress| {
            AnswerFrame { routes, dns: Dns::default() }.with(std::slice::from_ref(address), &invalid)
        };
        assert_eq!(answer(None, &plain).unwrap_err().code, ErrorCode::InvalidConfig);
        assert_eq!(answer(Some(Vec::new()), &plain).unwrap().routes, []);
        assert_eq!(answer(None, &delegated).unwrap().routes, []);
    }
}
