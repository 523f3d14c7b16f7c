//! Real components in the real sandbox, each answer checked by a real book.

mod host_local;
mod hostile;
mod loading;
mod node;
