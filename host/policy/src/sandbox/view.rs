//! The functions that a policy imports: its questions about a network during a call, and the log.
//!
//! Each question is answered in one place, [`CallContext::ask`]. None blocks.

use wasmtime::Result;

use super::bindings::tenure::ipam::{configuration, ledger, log, types};
use super::call::CallContext;
use super::questions::{
    ConfiguredRanges, Cooling, CountOf, DefinitionAttributes, Free, Get, Labels, Last, LastOf, PoolNamed,
    PoolOf, Pools, RangeOf, Ranges, StandingOf, UsageBy, UsageOf,
};
use crate::text::clean;

impl types::Host for CallContext {}

impl ledger::Host for CallContext {
    fn pools(&mut self) -> Result<Vec<types::Pool>> {
        self.ask(&Pools {})
    }

    fn pool_named(&mut self, name: String) -> Result<Option<u32>> {
        self.ask(&PoolNamed { name })
    }

    fn pool_of(&mut self, address: String) -> Result<Option<u32>> {
        self.ask(&PoolOf { address })
    }

    fn range_of(&mut self, address: String) -> Result<Option<types::AddressRange>> {
        self.ask(&RangeOf { address })
    }

    fn ranges(
        &mut self,
        pool: u32,
        labels: Vec<types::Attribute>,
        start: u32,
        limit: u32,
    ) -> Result<Vec<ledger::RangeView>> {
        self.ask(&Ranges { pool, label: Labels(labels), start, limit })
    }

    fn standing_of(&mut self, address: String) -> Result<ledger::Standing> {
        self.ask(&StandingOf { address })
    }

    fn free(
        &mut self,
        pool: u32,
        labels: Vec<types::Attribute>,
        after: Option<String>,
        direction: ledger::Direction,
        limit: u32,
    ) -> Result<Vec<String>> {
        self.ask(&Free { pool, label: Labels(labels), after, direction, limit })
    }

    fn cooling(&mut self, pool: u32, labels: Vec<types::Attribute>, limit: u32) -> Result<Vec<String>> {
        self.ask(&Cooling { pool, label: Labels(labels), limit })
    }

    fn last(&mut self, pool: u32, labels: Vec<types::Attribute>) -> Result<Option<String>> {
        self.ask(&Last { pool, label: Labels(labels) })
    }

    fn usage_of(&mut self, pool: u32, labels: Vec<types::Attribute>) -> Result<ledger::Usage> {
        self.ask(&UsageOf { pool, label: Labels(labels) })
    }

    fn usage_by(
        &mut self,
        pool: u32,
        labels: Vec<types::Attribute>,
        name: String,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<ledger::LabelUsage>> {
        self.ask(&UsageBy { pool, within: Labels(labels), label: name, after, limit })
    }

    fn count_of(&mut self, name: String, value: String) -> Result<u32> {
        self.ask(&CountOf { name, value })
    }

    fn last_of(&mut self, name: String) -> Result<Vec<ledger::Place>> {
        self.ask(&LastOf { name })
    }
}

impl configuration::Host for CallContext {
    fn get(&mut self) -> Result<types::Config> {
        self.ask(&Get {})
    }

    fn definition_attributes(&mut self) -> Result<Vec<types::Attribute>> {
        self.ask(&DefinitionAttributes {})
    }

    fn ranges(
        &mut self,
        path: String,
    ) -> Result<std::result::Result<Vec<Vec<types::AddressRange>>, types::ConfigError>> {
        self.ask(&ConfiguredRanges { path })
    }
}

impl log::Host for CallContext {
    fn write(&mut self, level: log::Level, message: String) -> Result<()> {
        let message = clean(&message);
        let level = match level {
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info | log::Level::Other(_) => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
            log::Level::Error => tracing::Level::ERROR,
        };
        self.told(level, message);
        Ok(())
    }
}
