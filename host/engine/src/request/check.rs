//! CHECK: whether an owner has what it was given.

use tenure_types::{Error, ErrorCode, Grant, NetworkName, Owner, Result};

use crate::engine::Engine;

impl Engine {
    /// Returns an owner's addresses, after looking at its link if the host makes it.
    ///
    /// # Errors
    /// `NotReady` while the state is lost, `UnknownAttachment` when the owner has none, `LinkDiffers` when the kernel does not show its link as it shall be.
    pub async fn check(&self, network: &NetworkName, owner: &Owner) -> Result<Grant> {
        self.core
            .observed("check", network, Some(owner), async {
                let held = self.core.allocation_of(network, owner).ok_or_else(|| {
                    Error::new(
                        ErrorCode::UnknownAttachment,
                        format_args!("{owner} owns no address of network {network}"),
                    )
                })?;
                // An older state may say that the owner has what another has by now.
                self.core.has_state()?;
                self.delegates.check_at_delegate(network, owner, &held.addresses).await?;
                if held.link().is_some() {
                    self.core.ports.links.check(&held).await?;
                }
                Ok(self.links.grant(&held))
            })
            .await
    }
}
