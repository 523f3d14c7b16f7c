//! Families of metrics that are encoded from figures, as collectors do.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use super::saturating;

/// Encodes one family after another. The names of all begin with one prefix.
pub(super) struct FamilyEncoder<'encoder> {
    prefix: &'static str,
    encoder: DescriptorEncoder<'encoder>,
}

impl<'encoder> FamilyEncoder<'encoder> {
    pub(super) fn new(prefix: &'static str, encoder: DescriptorEncoder<'encoder>) -> Self {
        Self { prefix, encoder }
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, count: u64) -> fmt::Result {
        let (name, help) = self.described(name, help);
        let counter = self.encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        ConstCounter::new(count).encode(counter)
    }

    pub(super) fn counters<'a, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl Iterator<Item = ([(&'static str, &'a str); LABELS], u64)>,
    ) -> fmt::Result {
        let (name, help) = self.described(name, help);
        let mut family = self.encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        for (labels, count) in series {
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    pub(super) fn gauges<'a, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl Iterator<Item = ([(&'static str, &'a str); LABELS], u64)>,
    ) -> fmt::Result {
        let (name, help) = self.described(name, help);
        let mut family = self.encoder.encode_descriptor(&name, &help, None, MetricType::Gauge)?;
        for (labels, count) in series {
            ConstGauge::new(saturating(count)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, count: usize) -> fmt::Result {
        let (name, help) = self.described(name, help);
        let gauge = self.encoder.encode_descriptor(&name, &help, None, MetricType::Gauge)?;
        ConstGauge::new(saturating(count)).encode(gauge)
    }

    pub(super) fn age(&mut self, name: &str, help: &str, age: Duration) -> fmt::Result {
        let (name, help) = self.described(name, help);
        let gauge = self.encoder.encode_descriptor(&name, &help, Some(&Unit::Seconds), MetricType::Gauge)?;
        ConstGauge::new(age.as_secs_f64()).encode(gauge)
    }

    fn described(&self, name: &str, help: &str) -> (String, String) {
        (format!("{}_{name}", self.prefix), format!("{help}."))
    }
}
