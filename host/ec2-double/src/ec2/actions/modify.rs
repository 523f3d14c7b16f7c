//! `ModifyNetworkInterfaceAttribute`: one attribute a call.

use super::create::tracking;
use super::{Parameters, Work};
use crate::state::{Change, Refusal};

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    let mut changes = Vec::new();
    let attachment = parameters.text("Attachment.AttachmentId");
    let ends = parameters.boolean("Attachment.DeleteOnTermination")?;
    match (attachment, ends) {
        (Some(attachment), Some(ends)) => changes.push(Change::DeleteOnTermination(attachment, ends)),
        (None, None) => {}
        (Some(_), None) => return Err(Refusal::missing("Attachment.DeleteOnTermination")),
        (None, Some(_)) => return Err(Refusal::missing("Attachment.AttachmentId")),
    }
    let groups = parameters.texts("SecurityGroupId");
    if !groups.is_empty() {
        changes.push(Change::Groups(groups));
    }
    changes.extend(parameters.boolean("SourceDestCheck.Value")?.map(Change::SourceDestCheck));
    changes.extend(parameters.text("Description.Value").map(Change::Description));
    changes.extend(tracking(parameters)?.map(Change::Tracking));
    let change = changes.pop().ok_or_else(|| Refusal::combination("No attributes specified."))?;
    if !changes.is_empty() {
        return Err(Refusal::combination("Fields for multiple attribute types specified"));
    }
    Ok(Box::new(move |context| {
        context.state.modify(&id, change, context.now)?;
        Ok(context.done())
    }))
}
