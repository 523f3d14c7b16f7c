//! Permissions: what callers may not do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::state::{Refusal, State};

/// A tag and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// An action that is denied: always, or unless a tag is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denial {
    /// The action.
    pub action: String,
    /// Allowed if the interface that it is about has this tag.
    #[serde(default)]
    pub unless_resource_tag: Option<Tag>,
    /// Allowed if the call sets this tag.
    #[serde(default)]
    pub unless_request_tag: Option<Tag>,
}

/// The actions denied to callers. By default, none is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Permissions {
    /// The denied actions.
    pub deny: Vec<Denial>,
}

impl Permissions {
    /// Checks a call. Tags that are set while creating need the permission to create tags, too.
    ///
    /// # Errors
    /// `UnauthorizedOperation`, with status 403.
    pub fn check(
        &self,
        action: &str,
        parameters: &BTreeMap<String, String>,
        caller: &str,
        state: &State,
    ) -> Result<(), Refusal> {
        let tags_too = action == "CreateNetworkInterface"
            && parameters.keys().any(|name| name.starts_with("TagSpecification."));
        let is_meant =
            |denial: &&Denial| denial.action == action || (tags_too && denial.action == "CreateTags");
        let denied = self.deny.iter().filter(is_meant).find(|denial| {
            let on_resource =
                denial.unless_resource_tag.as_ref().is_some_and(|tag| has_tag(parameters, state, tag));
            let in_request = denial.unless_request_tag.as_ref().is_some_and(|tag| sets_tag(parameters, tag));
            !on_resource && !in_request
        });
        denied.map_or(Ok(()), |denial| {
            let account = &state.account.id;
            let message = format!(
                "You are not authorized to perform this operation. User: \
                 arn:aws:sts::{account}:assumed-role/tenure-node/{caller} is not authorized to perform: ec2:{} \
                 because no identity-based policy allows the ec2:{} action.",
                denial.action, denial.action
            );
            Err(Refusal::new("UnauthorizedOperation", message).with_status(403))
        })
    }
}

/// Whether the interface that a call names has a tag.
fn has_tag(parameters: &BTreeMap<String, String>, state: &State, tag: &Tag) -> bool {
    let value = |name: &str| parameters.get(name);
    let by_id = ["NetworkInterfaceId", "ResourceId.1"].into_iter().find_map(value);
    let by_attachment = ["AttachmentId", "Attachment.AttachmentId"].into_iter().find_map(value);
    let interface = by_id
        .and_then(|id| state.interfaces().get(id))
        .or_else(|| by_attachment.and_then(|id| state.interfaces().attached_by(id)));
    interface.is_some_and(|known| known.tags.get(&tag.key) == Some(&tag.value))
}

/// Whether a call sets a tag.
fn sets_tag(parameters: &BTreeMap<String, String>, tag: &Tag) -> bool {
    parameters.iter().any(|(name, value)| {
        let beginning = name.strip_suffix(".Key").filter(|_| *value == tag.key);
        beginning.is_some_and(|beginning| parameters.get(&format!("{beginning}.Value")) == Some(&tag.value))
    })
}
