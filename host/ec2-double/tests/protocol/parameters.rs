//! The refusals that parameters cause, with their words: for each action what is missing, cannot be read, excludes each other
//! or is not taken; and which of two mistakes is named.

mod addresses;
mod changes;
mod create;
mod describe;
mod lives;
