//! `CreateTags`, and the tags that other calls set.

use std::collections::BTreeMap;

use super::{Parameters, Work};
use crate::state::Refusal;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let resources = parameters.texts("ResourceId");
    let tags = take(parameters)?;
    if resources.is_empty() {
        return Err(Refusal::missing("ResourceId"));
    }
    if tags.is_empty() {
        return Err(Refusal::missing("Tag"));
    }
    Ok(Box::new(move |context| {
        context.state.tag(&resources, &tags, context.now)?;
        Ok(context.done())
    }))
}

/// Takes `Tag.N.Key` and `Tag.N.Value`.
pub(super) fn take(parameters: &mut Parameters) -> Result<BTreeMap<String, String>, Refusal> {
    let mut tags = BTreeMap::new();
    for mut tag in parameters.structures("Tag") {
        let (key, value) = (tag.required("Key")?, tag.text("Value").unwrap_or_default());
        tag.finish()?;
        if key.starts_with("aws:") {
            let message = "Tag keys starting with 'aws:' are reserved for internal use";
            return Err(Refusal::value(message));
        }
        if key.chars().count() > 128 || value.chars().count() > 256 {
            return Err(Refusal::value(format!(
                "Tag '{key}' exceeds the maximum length of its key or value"
            )));
        }
        if tags.insert(key.clone(), value).is_some() {
            return Err(Refusal::value(format!("Duplicate tag key '{key}' specified.")));
        }
    }
    Ok(tags)
}
