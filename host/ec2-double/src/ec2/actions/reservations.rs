//! `GetSubnetCidrReservations`.

use std::collections::BTreeMap;

use super::{Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::state::{Purpose, Refusal, Reservation};
use crate::xml::{optional, record, set};

/// The filters that the double knows.
const FILTERS: &[&str] = &["reservationType", "subnet-id"];

/// The results that fit on a page.
const MOST: usize = 1000;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let paging = Paging::take(parameters, MOST, "none")?;
    let id = parameters.required("SubnetId")?;
    let filters = Filters::take(parameters, FILTERS)?;
    Ok(Box::new(move |context| {
        let subnet = context.state.subnets().get(&id).ok_or_else(|| Refusal::no_subnet(&id))?;
        let kept = subnet.reservations.iter().filter(|known| {
            filters.match_all(&BTreeMap::new(), |name| match name {
                "reservationType" => vec![word(known).to_owned()],
                _ => vec![id.clone()],
            })
        });
        let (page, next) = paging.page(kept.map(|known| (known.id.clone(), known)).collect())?;
        let items = page.iter().map(|known| {
            record!(Reservation {
                subnet_cidr_reservation_id: &known.id,
                subnet_id: &id,
                cidr: known.cidr,
                reservation_type: word(known),
                owner_id: &context.state.account.id,
            })
        });
        Ok(context.answer(record!(Described {
            subnet_ipv4_cidr_reservation_set: set(items),
            subnet_ipv6_cidr_reservation_set: (),
            next_token: optional(next),
        })))
    }))
}

const fn word(known: &Reservation) -> &'static str {
    match known.purpose {
        Purpose::Prefix => "prefix",
        Purpose::Explicit => "explicit",
    }
}
