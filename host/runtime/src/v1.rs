//! The generated part of the container runtime interface, package `runtime.v1`; the Kubernetes project documents it.
#![expect(unreachable_pub, reason = "generated")]
#![cfg_attr(any(test, feature = "fake"), expect(clippy::allow_attributes, reason = "generated"))]

include!("v1/generated.rs");
