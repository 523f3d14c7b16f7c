//! Printing answers: pages of text and tables for people, and their fields as JSON for programs.
//!
//! Each kind of answer says both once, in [`Shown`]; nothing else knows which kinds there are.

mod abandoned;
mod address;
mod allocations;
mod cell;
mod check;
mod claims;
mod cloud;
mod cluster;
mod configuration;
mod delegations;
mod doctor;
mod error;
mod export;
mod fold;
mod granted;
mod import;
mod install;
mod log;
mod narrow;
mod network;
mod networks;
mod page;
mod parts;
mod plan;
mod policies;
mod policy;
#[cfg(feature = "registry")]
mod pull;
mod quarantine;
mod release;
mod reload;
mod repair;
mod replay;
mod shadow;
mod shown;
mod states;
mod status;
mod table;
mod view;
mod words;

pub(crate) use allocations::AllocationList;
pub(crate) use error::{error, json_error};
pub(crate) use log::{LogFilter, LogLines};
pub(crate) use parts::duration;
pub(crate) use shown::{Report, json};
pub(crate) use view::View;

/// For the authors' verbs, and for the snapshots of every report.
#[cfg(any(feature = "author", test))]
pub(crate) use shown::Shown;
/// For the pages of the authors' verbs.
#[cfg(feature = "author")]
pub(crate) use {
    cell::Cell,
    page::Page,
    parts::{bytes, clean, counted},
    table::Table,
};
