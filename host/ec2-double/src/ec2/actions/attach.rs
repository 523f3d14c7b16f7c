//! `AttachNetworkInterface`.

use super::{Parameters, Work};
use crate::state::{Place, Refusal};
use crate::xml::record;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let id = parameters.required("NetworkInterfaceId")?;
    let instance = parameters.required("InstanceId")?;
    let device = parameters.value("DeviceIndex")?.ok_or_else(|| Refusal::missing("DeviceIndex"))?;
    let card = parameters.value("NetworkCardIndex")?;
    Ok(Box::new(move |context| {
        let place = Place { instance, device, card };
        let id = context.state.attach(&id, &place, context.now)?;
        Ok(context.answer(record!(Attached { attachment_id: id, network_card_index: card.unwrap_or(0) })))
    }))
}
