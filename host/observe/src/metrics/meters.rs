//! The meters of the policies that serve, by their digest.
//!
//! They are counted in the policies and set on a scrape as a whole, so that a digest that no longer serves leaves no
//! series behind.

use std::fmt;
use std::sync::{Arc, Mutex};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tenure_types::{Counts, Meter, PolicyStamp, hold};

use super::labels::{DigestLabels, KindLabels, RuleLabels};

/// The digits of a digest that a label shows, as `tenurectl` does.
const DIGITS: usize = 12;

type Metered = Vec<(PolicyStamp, Meter)>;

/// The meters as of the last scrape, sorted.
#[derive(Debug, Clone, Default)]
pub(super) struct MeterGauges(Arc<Mutex<Arc<Metered>>>);

impl MeterGauges {
    /// Replaces all meters.
    pub(super) fn set(&self, mut metered: Metered) {
        metered.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        *hold(&self.0) = Arc::new(metered);
    }

    fn read(&self) -> Arc<Metered> {
        Arc::clone(&hold(&self.0))
    }
}

impl Collector for MeterGauges {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let metered = self.read();
        let mut families = MeterFamilies { encoder, metered: &metered };
        families.counter("calls", "Calls of a policy", None, |meter| ConstCounter::new(meter.calls))?;
        families.counter(
            "processor",
            "Processor time of a policy's calls",
            Some(&Unit::Seconds),
            |meter| ConstCounter::new(meter.processor.as_secs_f64()),
        )?;
        families.gauge("memory_peak", "The most memory that one call of a policy has used", |meter| {
            ConstGauge::new(i64::try_from(meter.memory_peak).unwrap_or(i64::MAX))
        })?;
        families.counter("host_calls", "Host functions that a policy has called", None, |meter| {
            ConstCounter::new(meter.host_calls)
        })?;
        families.counts(
            "call_failures",
            "Calls in which a policy failed, by kind",
            |meter| &meter.failures,
            |of, kind| KindLabels { of, kind },
        )?;
        families.counts(
            "refusals",
            "Calls in which a policy refused to answer, by kind",
            |meter| &meter.refusals,
            |of, kind| KindLabels { of, kind },
        )?;
        families.counts(
            "rejections",
            "Answers of a policy that the ledger rejected, by rule",
            |meter| &meter.rejections,
            |of, rule| RuleLabels { of, rule },
        )
    }
}

/// Encodes one family after another.
struct MeterFamilies<'encoder, 'meters> {
    encoder: DescriptorEncoder<'encoder>,
    metered: &'meters Metered,
}

impl MeterFamilies<'_, '_> {
    fn counter<M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        value: impl Fn(&Meter) -> M,
    ) -> fmt::Result {
        self.family(name, help, unit, MetricType::Counter, value)
    }

    fn gauge<M: EncodeMetric>(&mut self, name: &str, help: &str, value: impl Fn(&Meter) -> M) -> fmt::Result {
        self.family(name, help, Some(&Unit::Bytes), MetricType::Gauge, value)
    }

    fn family<M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        kind: MetricType,
        value: impl Fn(&Meter) -> M,
    ) -> fmt::Result {
        let (name, help) = (format!("policy_{name}"), format!("{help}."));
        let mut family = self.encoder.encode_descriptor(&name, &help, unit, kind)?;
        for (stamp, meter) in self.metered {
            value(meter).encode(family.encode_family(&labels(stamp))?)?;
        }
        Ok(())
    }

    fn counts<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        counts: impl Fn(&Meter) -> &Counts,
        labelled: impl Fn(DigestLabels, &'static str) -> L,
    ) -> fmt::Result {
        let (name, help) = (format!("policy_{name}"), format!("{help}."));
        let mut family = self.encoder.encode_descriptor(&name, &help, None, MetricType::Counter)?;
        for (stamp, meter) in self.metered {
            for (kind, count) in counts(meter) {
                ConstCounter::new(*count).encode(family.encode_family(&labelled(labels(stamp), kind))?)?;
            }
        }
        Ok(())
    }
}

fn labels(stamp: &PolicyStamp) -> DigestLabels {
    let digest = stamp.digest.get(..DIGITS).unwrap_or(&stamp.digest);
    DigestLabels { policy: stamp.name.as_str().to_owned(), digest: digest.to_owned() }
}
