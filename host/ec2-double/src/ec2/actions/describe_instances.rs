//! `DescribeInstances`.

use serde::Serialize;

use super::describe_interfaces::visible;
use super::{Context, Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::ec2::shapes;
use crate::state::{Instance, Refusal};
use crate::xml::{optional, record, set};

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
        Ok(context.answer(record!(Described { reservation_set: set(items), next_token: optional(next) })))
    }))
}

/// Each instance is a reservation of its own.
fn reservation(known: &Instance, context: &Context<'_>) -> impl Serialize {
    record!(Reservation {
        reservation_id: known.id.replacen("i-", "r-", 1),
        owner_id: &context.state.account.id,
        group_set: (),
        instances_set: set([instance(known, context)]),
    })
}

fn instance(known: &Instance, context: &Context<'_>) -> impl Serialize {
    let (word, number) = known.phase.word();
    let primary = context.state.interfaces().get(&known.primary);
    let on_it = visible(context).into_iter().filter(|interface| {
        interface.attachment.as_ref().is_some_and(|attachment| attachment.instance == known.id)
    });
    let interfaces = on_it.map(|interface| shapes::interface_of_instance(interface, context));
    record!(Instance {
        instance_id: &known.id,
        image_id: "ami-0d0b1e",
        instance_state: record!(InstanceState { code: number, name: word }),
        instance_type: known.kind.name,
        launch_time: (context.date)(known.launched),
        placement: record!(Placement { availability_zone: &known.zone, tenancy: "default" }),
        // EC2 says xen here for every instance, on any hypervisor.
        hypervisor: "xen",
        subnet_id: optional(primary.map(|primary| &primary.subnet)),
        vpc_id: optional(primary.map(|_| &context.state.account.vpc)),
        private_ip_address: optional(primary.and_then(|primary| primary.primary())),
        source_dest_check: optional(primary.map(|primary| primary.source_dest_check)),
        group_set: optional(primary.map(|primary| shapes::groups(&primary.groups))),
        tag_set: shapes::tags(&known.tags),
        network_interface_set: set(interfaces),
    })
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
