//! CNI semantics.
