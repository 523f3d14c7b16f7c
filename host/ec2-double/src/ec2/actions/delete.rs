//! `DeleteNetworkInterface`.

use super::{Parameters, Work};
use crate::state::Refusal;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    Ok(Box::new(move |context| {
        context.state.delete(&id, context.now)?;
        Ok(context.done())
    }))
}
