//! The step `plan`: the situation that a policy plans for, and the effects that its plan must have.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenure_ledger::Book;
use tenure_types::{Attributes, Demand, Effect, Error, Object, PlanState};

use super::ExpectedPlan;
use super::effect::{CaseEffect, attributes, index};

/// The situation of a step: what `tenurectl plan --explain --output json` shows under the same names, and the requests that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaseSituation {
    /// The number of requests that wait for an address, by the pool's name.
    pub waiting: BTreeMap<String, u32>,
    /// Objects outside the ledger.
    pub objects: Vec<CaseObject>,
    /// Effects of earlier plans that are not finished.
    pub pending: Vec<CaseEffect>,
    /// Facts about the whole node.
    pub attributes: BTreeMap<String, String>,
}

/// An object outside the ledger, such as a block.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseObject {
    /// The object's kind.
    pub kind: String,
    /// The object's name, unique within its kind.
    pub name: String,
    /// Facts about it.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

impl CaseSituation {
    /// Reads the JSON object of a step; nothing is an empty situation.
    pub(super) fn read(json: &str) -> Result<Self, String> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        let situation: Self = serde_json::from_str(json).map_err(|error| format!("after `plan`: {error}"))?;
        situation.pending.iter().try_for_each(CaseEffect::check)?;
        Ok(situation)
    }

    /// The input of a plan of a network that has these pools.
    ///
    /// # Errors
    /// With a name that no pool has, or attributes that no host would pass.
    pub(super) fn state(&self, book: &Book) -> Result<PlanState, Error> {
        let demand = |(pool, waiting): (&String, &u32)| {
            Ok(Demand { pool: index(book, pool)?, waiting: *waiting, attributes: Attributes::default() })
        };
        let object = |object: &CaseObject| {
            let attributes = attributes(&object.attributes)?;
            Ok(Object { kind: object.kind.clone(), name: object.name.clone(), attributes })
        };
        Ok(PlanState {
            demands: self.waiting.iter().map(demand).collect::<Result<_, Error>>()?,
            objects: self.objects.iter().map(object).collect::<Result<_, Error>>()?,
            pending: self.pending.iter().map(|effect| effect.of(book)).collect::<Result<_, _>>()?,
            attributes: attributes(&self.attributes)?,
        })
    }
}

/// Compares what a policy planned with what it must plan; an error has both.
pub(super) fn check(
    expected: &ExpectedPlan,
    planned: Result<Vec<Effect>, Error>,
    book: &Book,
) -> Result<(), (String, String)> {
    let named = |effects: Vec<Effect>| effects.iter().map(|effect| CaseEffect::named(effect, book)).collect();
    let planned = planned.map(named);
    if expected.is(&planned) { Ok(()) } else { Err((expected.to_string(), ExpectedPlan::told(&planned))) }
}
