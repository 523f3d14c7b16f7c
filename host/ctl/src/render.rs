//! Text for people: pure functions from a report to the printed text.

mod abandoned;
mod address;
mod allocations;
mod author;
mod check;
mod claims;
mod cloud;
mod delegations;
mod error;
mod export;
mod granted;
mod import;
mod log;
mod network;
mod networks;
mod parts;
mod plan;
mod policies;
mod policy;
mod release;
mod reload;
mod repair;
mod replay;
mod shadow;
mod states;
mod status;
mod table;

use crate::report::Report;

pub(crate) use allocations::Allocations;
pub(crate) use error::error;
pub(crate) use log::Lines as LogLines;

/// A report's text; ages are relative to `now_ms`, the wall clock's time.
pub(crate) fn report(report: &Report, now_ms: u64) -> String {
    match report {
        Report::Status(answer) => status::status(answer, now_ms),
        Report::Networks(answer) => networks::networks(answer, now_ms),
        Report::Address(address) => address::address(&address.address, &address.answer, now_ms),
        Report::Check(answer) => check::check(answer),
        Report::Release(release) => release::release(release),
        Report::Claims(answer) => claims::claims(answer, now_ms),
        Report::ReleasedClaim(released) => claims::released(released),
        Report::Delegations(answer) => delegations::delegations(answer, now_ms),
        Report::Cloud(answer) => cloud::cloud(answer, now_ms),
        Report::Plan(answer) => plan::plan(answer),
        Report::Repair(repair) => repair::repair(repair),
        Report::Import(import) => import::import(import),
        Report::Abandoned(abandoned) => abandoned::abandoned(abandoned),
        Report::Export(export) => export::export(export),
        Report::Adopted(answer) => status::adopted(answer),
        Report::Policies(answer) => policies::policies(answer),
        Report::Inspected(answer) => policy::inspected(answer, now_ms),
        Report::Loaded(answer) => policy::loaded(answer),
        Report::Unloaded(answer) => policy::unloaded(answer),
        Report::Shadowed(shadowed) => shadow::shadow(&shadowed.network, &shadowed.answer, now_ms),
        Report::History(answer) => policy::history(answer, now_ms),
        Report::State(state) => states::state(state, now_ms),
        Report::Exported(exported) => states::exported(exported),
        Report::Imported(imported) => states::imported(imported),
        // Printed as it is.
        Report::Raw(_) => String::new(),
        Report::Activated(activated) => policies::activated(&activated.network, &activated.answer),
        Report::Defined(defined) => network::defined(defined),
        Report::Removed(removed) => network::removed(removed),
        Report::Reloaded(answer) => reload::reloaded(answer),
        Report::Replayed(replayed) => replay::replayed(replayed),
        Report::Work(work) => author::work(work),
    }
}
