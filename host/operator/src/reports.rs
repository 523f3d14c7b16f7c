//! Everything by which an operator is observed: events for people, metrics for a scraper, health for the kubelet.
//!
//! Nothing here is needed for a decision, and nothing here waits for the API server: a pass hands a notice over, and goes on.

mod complaints;
mod events;
mod health;
mod metrics;
mod notice;
mod sender;

pub use self::complaints::Complaints;
pub use self::events::{EventOutbox, EventQueue};
pub use self::health::OperatorHealth;
pub use self::metrics::{BlockCount, OperatorMetrics, WriteCause};
pub use self::notice::{EventReason, EventSubject, Notice};
pub use self::sender::EventSender;

/// The ways out of a pass. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct Reports {
    /// The events.
    pub events: EventOutbox,
    /// The metrics.
    pub metrics: OperatorMetrics,
}

impl Reports {
    /// Reports whose events have a sender.
    #[must_use]
    pub fn new() -> (Self, EventQueue) {
        let metrics = OperatorMetrics::default();
        let (events, queue) = EventOutbox::new(metrics.clone());
        (Self { events, metrics }, queue)
    }
}
