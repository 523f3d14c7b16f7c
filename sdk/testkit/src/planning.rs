//! Plans of a policy that is called natively, with the checks that the host makes of their form.
//!
//! Which kinds of effects a policy may use is granted by an operator; here all are.

use tenure_sdk::{Effect, Planner, SupplySituation};
use tenure_types::Error;

use crate::{Native, Node};

impl<P: Planner> Node<Native<P>> {
    /// Asks the policy for a plan. Nothing carries it out: a test passes what came of it with the next situation, and as
    /// ranges.
    ///
    /// # Errors
    /// With the policy's refusal, why it failed, or why the host does not accept the plan's form.
    pub fn plan(&self, situation: &SupplySituation) -> Result<Vec<Effect>, Error> {
        self.policy().planned(situation, self.book())
    }
}
