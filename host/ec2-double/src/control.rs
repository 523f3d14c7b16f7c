//! The control port: JSON over HTTP, by which a test or a person looks at the double and changes it.

mod changes;
mod looks;

use std::sync::Arc;

use hyper::Method;
use serde_json::{Value, json};

use crate::doors::Doors;
use crate::http::{Answer, Asked, Service};
use crate::world::Shared;

/// The commands of the control port.
pub const HELP: &str = "\
The control port (JSON over HTTP):
  GET    /state                     the account: instances, interfaces, subnets, settings
  GET    /journal?after=N           the calls after number N; with &wait_ms=T, waits up to T for the first
  DELETE /journal                   forgets the calls
  GET    /oracle                    what must never happen and did
  GET    /clock                     what time it is, in milliseconds, and when the next event is due
  POST   /clock                     {\"advance_ms\": 5000}, or {\"to_ms\": 3605000}; virtual time only
  GET    /faults                    the faults that are set
  POST   /faults                    {\"call\": \"AttachNetworkInterface\", \"from\": 2, \"times\": 1, \"kind\": \"lost_after\"}
                                    call: an action, * for each, or the beginning of an IMDS path
                                    kind: code (code, message, status), delay_before and delay_after (delay_ms),
                                    lost_before, lost_after, reset, half_body, wrong_xml; until_ms ends it
  DELETE /faults, /faults/NUMBER    takes faults back
  GET    /held?wait_ms=T            the calls that a delay holds; waits up to T for the first
  DELETE /held/NUMBER               lets one go on, at any time of the clock
  PUT    /consistency               {\"describe_lag_ms\": 0, \"describe_frozen_at\": null, \"describe_hides\": [], \"call_lag_ms\": 0,
                                    \"subnet_lag_ms\": 0, \"imds_lag_ms\": 0, \"imds_frozen_at\": {\"i-1\": 3605000},
                                    \"imds_shows\": {\"eni-1\": \"missing\", \"eni-2\": \"no_fields\", \"eni-3\": \"flapping\"}}
  PUT    /timing                    {\"create_ms\", \"attach_ms\", \"detach_ms\", \"move_ms\", \"start_ms\", \"stop_ms\", \"terminate_ms\"}
  PUT    /rules                     {\"interfaces\": 5000, \"exhaustion\": \"code\" or \"message\", \"throttling\": true, \"imds_packets\": false}
  PUT    /permissions               {\"deny\": [{\"action\": \"DeleteNetworkInterface\",
                                    \"unless_resource_tag\": {\"key\": \"owner\", \"value\": \"me\"}}]}; also unless_request_tag
  PUT    /account                   {\"cidrs\": [\"10.0.0.0/8\"], \"groups\": [\"sg-0default\"]}: the VPC's ranges and groups; what is
                                    left out stays as it is
  PUT    /signature                 {\"required\": true, \"skew_s\": 0}
  PUT    /load                      {\"action\": \"AssignPrivateIpAddresses\", \"per_second\": 4}: calls of other nodes
  PUT    /terms                     {\"cooldown_ms\": 30000, \"idle_ms\": 0, \"calls_per_minute\": 60}: what the oracle expects
  POST   /instances                 {\"type\": \"t3.small\", \"subnet\": \"subnet-1\", \"tags\": {}}: launches an instance
  POST   /instances/ID/stop         also start and terminate
  PUT    /instances/ID/type         \"t3.large\": as if it had been stopped, and started as this type
  PUT    /instances/ID/pods         [\"10.0.0.7\"]: all addresses that the node's pods use, for the oracle
Fields that are left out of a PUT get their defaults.";

/// The control port.
#[derive(Debug)]
pub(crate) struct Control {
    shared: Arc<Shared>,
    doors: Arc<Doors>,
}

/// The answer to a command, or the reason why it failed.
type Outcome = Result<Value, Wrong>;

/// Why something cannot be done.
#[derive(Debug)]
struct Wrong {
    status: u16,
    message: String,
}

impl Wrong {
    fn new(status: u16, message: impl std::fmt::Display) -> Self {
        Self { status, message: format!("{message}") }
    }
}

impl Control {
    pub(crate) const fn new(shared: Arc<Shared>, doors: Arc<Doors>) -> Self {
        Self { shared, doors }
    }

    async fn outcome(&self, asked: &Asked) -> Outcome {
        let parts: Vec<&str> = asked.path.split('/').filter(|part| !part.is_empty()).collect();
        let outcome = match (&asked.method, parts.as_slice()) {
            (&Method::GET, _) => self.look(&parts, &asked.query).await?,
            (&Method::POST, ["instances"]) => Some(self.launch(&asked.body).await?),
            (method, parts) => self.change(method, parts, &asked.body)?,
        };
        outcome.ok_or_else(|| Wrong::new(404, format!("{} {} is not known", asked.method, asked.path)))
    }
}

impl Service for Control {
    async fn answer(&self, asked: Asked) -> Answer {
        if asked.method == Method::GET && asked.path == "/" {
            return Answer::new(200, "text/plain", format!("{HELP}\n"));
        }
        let (status, value) = match self.outcome(&asked).await {
            Ok(value) => (200, value),
            Err(wrong) => (wrong.status, json!({ "error": wrong.message, "next": "GET / lists the calls" })),
        };
        Answer::new(status, "application/json", format!("{value:#}\n"))
    }
}
