//! EC2's query protocol: a form in, XML out.
//!
//! ```text
//! form ─▶ signature ─▶ action ─▶ faults ─▶ bucket ─▶ parameters ─▶ permissions ─▶ dry run ─▶ state ─▶ journal ─▶ XML
//! ```

mod actions;
mod filters;
mod output;
mod paging;
mod parameters;
mod shapes;
mod signature;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::clock::wall_clock;
use crate::faults::Kind;
use crate::http::{Answer, Asked, Fate, Service};
use crate::journal::{Call, Face, Told};
use crate::state::{Refusal, State, Time};
use crate::world::{Shared, World};
use crate::xml::record;

use actions::Action;
use parameters::Parameters;

/// The version of the protocol.
const VERSION: &str = "2016-11-15";

/// The account and the caller that an action works with.
pub(crate) struct Context<'a> {
    state: &'a mut State,
    now: Time,
    /// Writes a moment as EC2 does.
    date: &'a dyn Fn(Time) -> String,
    action: &'a str,
    request_id: &'a str,
}

impl Context<'_> {
    /// Writes the answer to the call.
    fn answer(&self, result: impl Serialize) -> String {
        output::document(self.action, self.request_id, result)
    }

    /// Writes the answer to a call that returns nothing but success.
    fn done(&self) -> String {
        self.answer(record!(Done { r#return: true }))
    }
}

/// EC2's endpoint.
#[derive(Debug)]
pub(crate) struct Ec2 {
    shared: Arc<Shared>,
}

impl Ec2 {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Applies a call, or refuses it, and writes it down.
    fn apply(&self, asked: &Asked, parameters: BTreeMap<String, String>, fault: Option<&Kind>) -> Answer {
        let action = parameters.get("Action").cloned().unwrap_or_default();
        self.shared.with(|world, now| {
            let id = world.state.new_id("request");
            let caller = signature::access_key(asked);
            let caller = world.keys.get(&caller).cloned().unwrap_or(caller);
            let told = match fault {
                Some(Kind::LostBefore | Kind::LostAfter | Kind::Reset | Kind::HalfBody | Kind::WrongXml) => {
                    Told::Nothing
                }
                _ => Told::Answer,
            };
            let mut call = Call { face: Face::Ec2, caller, call: action, parameters, refused: None, told };
            let result = if matches!(fault, Some(Kind::LostBefore)) {
                Err(Refusal::new("LostBefore", "The request did not arrive."))
            } else {
                self.result(world, asked, &call, &id, fault, now)
            };
            call.refused = result.as_ref().err().map(|refusal| refusal.code.to_string());
            self.shared.record(world, call, now);
            output::answer(&id, result)
        })
    }

    fn result(
        &self,
        world: &mut World,
        asked: &Asked,
        call: &Call,
        request_id: &str,
        fault: Option<&Kind>,
        now: Time,
    ) -> Result<String, Refusal> {
        let Call { caller, parameters: form, .. } = call;
        signature::check(asked, &world.state.account.region, world.signature, wall_clock())?;
        let name = form.get("Action").ok_or_else(|| Refusal::missing("Action"))?;
        let action = Action::find(name).ok_or_else(|| {
            Refusal::new("InvalidAction", format!("The action {name} is not valid for this web service."))
        })?;
        if form.get("Version").is_none_or(|version| version != VERSION) {
            return Err(Refusal::new("InvalidParameterValue", "The Version must be 2016-11-15"));
        }
        if let Some(Kind::Code { code, message, status }) = fault {
            return Err(Refusal::new(code.clone(), message.clone()).with_status(*status));
        }
        if world.state.rules.throttling && !world.state.throttle.admit(name, paging::is_wide(form), now) {
            return Err(Refusal::throttled());
        }
        let mut parameters = Parameters::new(form);
        let dry_run = action.has_dry_run && parameters.boolean("DryRun")?.unwrap_or(false);
        let work = (action.parse)(&mut parameters)?;
        parameters.finish()?;
        world.permissions.check(name, form, caller, &world.state)?;
        if dry_run {
            let message = "Request would have succeeded, but DryRun flag is set.";
            return Err(Refusal::new("DryRunOperation", message).with_status(412));
        }
        let date = |time| self.shared.clock.date(time);
        work(&mut Context { state: &mut world.state, now, date: &date, action: name, request_id })
    }
}

impl Service for Ec2 {
    async fn answer(&self, asked: Asked) -> Answer {
        let form: BTreeMap<String, String> = form_urlencoded::parse(&asked.body)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        let action = form.get("Action").cloned().unwrap_or_default();
        let fault = self.shared.strike(&action).await;
        let mut answer = self.apply(&asked, form, fault.as_ref());
        match fault {
            Some(Kind::DelayAfter { delay_ms }) => {
                self.shared.hold(&action, true, delay_ms).await;
            }
            Some(Kind::LostBefore | Kind::LostAfter) => answer.fate = Fate::Lost,
            Some(Kind::Reset) => answer.fate = Fate::Reset,
            Some(Kind::HalfBody) => answer.fate = Fate::Half,
            Some(Kind::WrongXml) => answer.body = b"<html><body>502 Bad Gateway</html>".to_vec(),
            Some(Kind::Code { .. } | Kind::DelayBefore { .. }) | None => {}
        }
        answer
    }
}
