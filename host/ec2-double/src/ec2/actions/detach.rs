//! `DetachNetworkInterface`.

use super::{Parameters, Work};
use crate::state::Refusal;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let attachment = parameters.required("AttachmentId")?;
    // It speeds nothing up: a guest that does not answer is not part of the double.
    parameters.boolean("Force")?;
    Ok(Box::new(move |context| {
        context.state.detach(&attachment, context.now)?;
        Ok(context.done())
    }))
}
