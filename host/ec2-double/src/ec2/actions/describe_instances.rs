//! `DescribeInstances`.

use super::describe_interfaces::visible;
use super::{Context, Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::ec2::shapes;
use crate::state::{Instance, Refusal};
use crate::xml::{Element, list, parent, text};

/// The filters that the double knows.
const FILTERS: &[&str] = &["instance-id", "instance-state-name", "instance-type", "subnet-id", "vpc-id"];

/// The results that fit on a page.
const MOST: usize = 1000;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let paging = Paging::take(parameters, MOST, "InstanceId")?;
    let ids = parameters.texts("InstanceId");
    let filters = Filters::take(parameters, FILTERS)?;
    Ok(Box::new(move |context| {
        let instances = context.state.instances();
        if let Some(unknown) = ids.iter().find(|id| !instances.contains_key(*id)) {
            return Err(Refusal::no_instance(unknown));
        }
        let kept = instances.values().filter(|known| ids.is_empty() || ids.contains(&known.id));
        let kept = kept.filter(|known| filters.match_all(&known.tags, |name| values(known, context, name)));
        let (page, next) = paging.page(kept.map(|known| (known.id.clone(), known)).collect())?;
        let items = page.iter().map(|known| reservation(known, context));
        let mut answer = vec![list("reservationSet", items)];
        answer.extend(next);
        Ok(answer)
    }))
}

/// Each instance is a reservation of its own.
fn reservation(known: &Instance, context: &Context<'_>) -> Vec<Element> {
    vec![
        text("reservationId", known.id.replacen("i-", "r-", 1)),
        text("ownerId", &context.state.account.id),
        list("groupSet", []),
        list("instancesSet", [instance(known, context)]),
    ]
}

fn instance(known: &Instance, context: &Context<'_>) -> Vec<Element> {
    let (word, number) = known.phase.word();
    let mut elements = vec![
        text("instanceId", &known.id),
        text("imageId", "ami-0d0b1e"),
        parent("instanceState", vec![text("code", number), text("name", word)]),
        text("instanceType", known.kind.name),
        text("launchTime", (context.date)(known.launched)),
        parent("placement", vec![text("availabilityZone", &known.zone), text("tenancy", "default")]),
        // EC2 says xen here for every instance, on any hypervisor.
        text("hypervisor", "xen"),
    ];
    if let Some(primary) = context.state.interfaces().get(&known.primary) {
        elements.push(text("subnetId", &primary.subnet));
        elements.push(text("vpcId", &context.state.account.vpc));
        elements.extend(primary.primary().map(|address| text("privateIpAddress", address)));
        elements.push(text("sourceDestCheck", primary.source_dest_check));
        elements.push(shapes::groups(&primary.groups));
    }
    elements.push(shapes::tags(&known.tags));
    let on_it = visible(context).into_iter().filter(|interface| {
        interface.attachment.as_ref().is_some_and(|attachment| attachment.instance == known.id)
    });
    let items = on_it.map(|interface| shapes::interface_of_instance(&interface, context));
    elements.push(list("networkInterfaceSet", items));
    elements
}

/// The values of an instance that a filter compares.
fn values(known: &Instance, context: &Context<'_>, name: &str) -> Vec<String> {
    let value = match name {
        "instance-id" => known.id.clone(),
        "instance-state-name" => known.phase.word().0.to_owned(),
        "instance-type" => known.kind.name.to_owned(),
        "subnet-id" => context
            .state
            .interfaces()
            .get(&known.primary)
            .map(|primary| primary.subnet.clone())
            .unwrap_or_default(),
        "vpc-id" => context.state.account.vpc.clone(),
        _ => return Vec::new(),
    };
    vec![value]
}
