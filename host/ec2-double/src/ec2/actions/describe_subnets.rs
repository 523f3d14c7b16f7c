//! `DescribeSubnets`.

use super::{Context, Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::ec2::shapes;
use crate::state::{Refusal, Subnet};
use crate::xml::{Element, list, parent, text};

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
        let mut answer = vec![list("subnetSet", page.iter().map(|known| subnet(known, context)))];
        answer.extend(next);
        Ok(answer)
    }))
}

fn subnet(known: &Subnet, context: &Context<'_>) -> Vec<Element> {
    let account = &context.state.account;
    let seen = context.now.before(context.state.consistency.subnet_lag_ms);
    let ipv6 = known.ipv6.map(|net| {
        vec![
            text("associationId", known.id.replacen("subnet-", "subnet-cidr-assoc-", 1)),
            text("ipv6CidrBlock", net),
            parent("ipv6CidrBlockState", vec![text("state", "associated")]),
        ]
    });
    let (region, owner) = (&account.region, &account.id);
    vec![
        text("subnetId", &known.id),
        text("subnetArn", format!("arn:aws:ec2:{region}:{owner}:subnet/{}", known.id)),
        text("state", "available"),
        text("ownerId", owner),
        text("vpcId", &account.vpc),
        text("cidrBlock", known.cidr),
        list("ipv6CidrBlockAssociationSet", ipv6),
        text("availableIpAddressCount", known.free_at(seen)),
        text("availabilityZone", &known.zone),
        text("defaultForAz", false),
        text("mapPublicIpOnLaunch", false),
        text("assignIpv6AddressOnCreation", false),
        shapes::tags(&known.tags),
    ]
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
