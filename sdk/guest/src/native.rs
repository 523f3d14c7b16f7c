//! Runs a policy's functions on any target but WebAssembly, against a stand-in for the host.
//!
//! The crate `tenure-testkit` has such a stand-in, over the ledger that the host itself uses. Implement [`Host`] only to
//! write another one.

pub(crate) mod imports;

use std::cell::RefCell;
use std::rc::Rc;

use crate::bindings::tenure::ipam::{ledger, log, types};

/// The functions that a policy imports, as defined in the interface.
///
/// ```
/// use std::rc::Rc;
/// use tenure_sdk::bindings::tenure::ipam::types;
/// use tenure_sdk::native::{Host, call};
/// use tenure_sdk::{Config, Cooling, Definition, Refusal, configuration};
///
/// /// A network that is being defined: it has a configuration and no pools.
/// struct Defining(&'static str);
///
/// impl Host for Defining {
///     fn config(&self) -> types::Config {
///         types::Config { name: "net".into(), ipam: self.0.into(), attributes: Vec::new() }
///     }
/// }
///
/// let host = Rc::new(Defining(r#"{"subnet": "10.1.2.0/24"}"#));
/// let sets = call(host, || configuration::ranges("ipam"))?;
/// assert_eq!(Definition::new(sets, Cooling::Strict).pools.len(), 1);
/// # Ok::<(), Refusal>(())
/// ```
pub trait Host {
    /// `configuration.get`.
    fn config(&self) -> types::Config;

    /// `configuration.definition-attributes`.
    fn definition_attributes(&self) -> Vec<types::Attribute> {
        Vec::new()
    }

    /// `configuration.ranges`, read from [`config`](Self::config).
    ///
    /// # Errors
    /// With the path of the wrong key.
    fn configured_ranges(&self, path: &str) -> Result<Vec<Vec<types::AddressRange>>, types::ConfigError> {
        let sets = crate::ranges::read_at(&self.config().into(), path)?;
        Ok(sets.into_iter().map(|set| set.0.into_iter().map(types::AddressRange::from).collect()).collect())
    }

    /// `ledger.pools`.
    fn pools(&self) -> Vec<types::Pool> {
        Vec::new()
    }

    /// `ledger.pool-named`.
    fn pool_named(&self, name: &str) -> Option<u32> {
        (0..).zip(self.pools()).find(|(_, pool)| pool.name == name).map(|(index, _)| index)
    }

    /// `ledger.pool-of`.
    fn pool_of(&self, _address: &str) -> Option<u32> {
        None
    }

    /// `ledger.range-of`.
    fn range_of(&self, _address: &str) -> Option<types::AddressRange> {
        None
    }

    /// `ledger.ranges`.
    fn ranges(
        &self,
        _pool: u32,
        _labels: &[types::Attribute],
        _start: u32,
        _limit: u32,
    ) -> Vec<ledger::RangeView> {
        Vec::new()
    }

    /// `ledger.standing-of`.
    fn standing_of(&self, _address: &str) -> ledger::Standing {
        ledger::Standing::Outside
    }

    /// `ledger.free`.
    fn free(
        &self,
        _pool: u32,
        _labels: &[types::Attribute],
        _after: Option<&str>,
        _direction: &ledger::Direction,
        _limit: u32,
    ) -> Vec<String> {
        Vec::new()
    }

    /// `ledger.cooling`.
    fn cooling(&self, _pool: u32, _labels: &[types::Attribute], _limit: u32) -> Vec<String> {
        Vec::new()
    }

    /// `ledger.last`.
    fn last(&self, _pool: u32, _labels: &[types::Attribute]) -> Option<String> {
        None
    }

    /// `ledger.usage-of`.
    fn usage_of(&self, _pool: u32, _labels: &[types::Attribute]) -> ledger::Usage {
        ledger::Usage { total: 0, held: 0, cooling: 0 }
    }

    /// `ledger.usage-by`.
    fn usage_by(
        &self,
        _pool: u32,
        _labels: &[types::Attribute],
        _name: &str,
        _after: Option<&str>,
        _limit: u32,
    ) -> Vec<ledger::LabelUsage> {
        Vec::new()
    }

    /// `ledger.count-of`.
    fn count_of(&self, _name: &str, _value: &str) -> u32 {
        0
    }

    /// `ledger.last-of`.
    fn last_of(&self, _name: &str) -> Vec<ledger::Place> {
        Vec::new()
    }

    /// `log.write`. By default a line on standard error, which a test's runner shows if the test fails.
    fn log(&self, level: &log::Level, message: &str) {
        eprintln!("{level:?}: {message}");
    }
}

thread_local! {
    /// The stand-in of the call that this thread is in.
    static HOST: RefCell<Option<Rc<dyn Host>>> = const { RefCell::new(None) };
}

/// Calls a function of a policy; what it asks the host, `host` answers. A call inside of another one has its own host
/// until it returns.
pub fn call<T>(host: Rc<dyn Host>, function: impl FnOnce() -> T) -> T {
    /// Puts the outer call's host back, even if the function panics.
    struct Outer(Option<Rc<dyn Host>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            HOST.set(self.0.take());
        }
    }
    let _outer = Outer(HOST.replace(Some(host)));
    function()
}

/// The stand-in of the present call.
fn host() -> Option<Rc<dyn Host>> {
    HOST.with_borrow(Clone::clone)
}
