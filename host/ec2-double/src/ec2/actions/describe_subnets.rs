//! `DescribeSubnets`.

use serde::Serialize;

use super::{Context, Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::ec2::shapes;
use crate::state::{Refusal, Subnet};
use crate::xml::{optional, record, set};

/// The filters that the double knows.
const FILTERS: &[&str] = &["availability-zone", "cidr-block", "state", "subnet-id", "vpc-id"];

/// The results that fit on a page.
const MOST: usize = 1000;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let paging = Paging::take(parameters, MOST, "SubnetId")?;
    let ids = parameters.texts("SubnetId");
    let filters = Filters::take(parameters, FILTERS)?;
    Ok(Box::new(move |context| {
        let subnets = context.state.subnets();
        if let Some(unknown) = ids.iter().find(|id| !subnets.contains_key(*id)) {
            return Err(Refusal::no_subnet(unknown));
        }
        let vpc = &context.state.account.vpc;
        let kept = subnets.values().filter(|known| ids.is_empty() || ids.contains(&known.id));
        let kept = kept.filter(|known| filters.match_all(&known.tags, |name| values(known, vpc, name)));
        let (page, next) = paging.page(kept.map(|known| (known.id.clone(), known)).collect())?;
        let items = page.iter().map(|known| subnet(known, context));
        Ok(context.answer(record!(Described { subnet_set: set(items), next_token: optional(next) })))
    }))
}

fn subnet(known: &Subnet, context: &Context<'_>) -> impl Serialize {
    let account = &context.state.account;
    let seen = context.now.before(context.state.consistency.subnet_lag_ms);
    let ipv6 = known.ipv6.map(|net| {
        record!(Association {
            association_id: known.id.replacen("subnet-", "subnet-cidr-assoc-", 1),
            ipv6_cidr_block: net,
            ipv6_cidr_block_state: record!(BlockState { state: "associated" }),
        })
    });
    let (region, owner) = (&account.region, &account.id);
    record!(Subnet {
        subnet_id: &known.id,
        subnet_arn: format!("arn:aws:ec2:{region}:{owner}:subnet/{}", known.id),
        state: "available",
        owner_id: owner,
        vpc_id: &account.vpc,
        cidr_block: known.cidr,
        ipv6_cidr_block_association_set: set(ipv6),
        available_ip_address_count: known.free_at(seen),
        availability_zone: &known.zone,
        default_for_az: false,
        map_public_ip_on_launch: false,
        assign_ipv6_address_on_creation: false,
        tag_set: shapes::tags(&known.tags),
    })
}

/// The values of a subnet that a filter compares.
fn values(known: &Subnet, vpc: &str, name: &str) -> Vec<String> {
    let value = match name {
        "availability-zone" => known.zone.clone(),
        "cidr-block" => known.cidr.to_string(),
        "state" => "available".to_owned(),
        "subnet-id" => known.id.clone(),
        "vpc-id" => vpc.to_owned(),
        _ => return Vec::new(),
    };
    vec![value]
}
