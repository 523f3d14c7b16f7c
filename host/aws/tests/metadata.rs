//! The adapter of the metadata service against the double, over real HTTP on loopback.

#[cfg(test)]
#[path = "metadata/imds.rs"]
mod imds;
