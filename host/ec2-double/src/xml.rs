//! Elements as serde writes them: the fields of a structure are its children, and a sequence is an element for each member.

use serde::Serialize;

/// Declares a structure and fills it, so that each element is one line. Names are in camel case unless an attribute says otherwise.
macro_rules! record {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $value:expr),+ $(,)? }) => {{
        #[expect(non_camel_case_types, reason = "the type of each field has the field's name")]
        let record = {
            #[derive(serde::Serialize)]
            #[serde(rename_all = "camelCase")]
            struct $name<$($field),+> { $($(#[$attribute])* $field: $field),+ }
            $name { $($field: $value),+ }
        };
        record
    }};
}
pub(crate) use record;

/// A list: each member is an `item`. An empty list is an empty element.
#[derive(Debug, Serialize)]
pub(crate) struct ElementSet<T> {
    item: Vec<T>,
}

/// The list of some members.
pub(crate) fn set<T>(members: impl IntoIterator<Item = T>) -> ElementSet<T> {
    ElementSet { item: members.into_iter().collect() }
}

/// An element that is absent if there is no value.
pub(crate) fn optional<T>(value: Option<T>) -> Vec<T> {
    value.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_items_and_texts_are_escaped() {
        let tag = |key, value| record!(Tag { key: key, value: value });
        let answer = record!(Answer {
            request_id: "r",
            tag_set: set([tag("a&b", ""), tag("<c>", "d")]),
            group_set: set([""; 0]),
            client_token: optional(None::<&str>),
            next_token: optional(Some(5)),
        });
        let written = quick_xml::se::to_string(&answer).unwrap();
        insta::assert_snapshot!(written, @"<Answer><requestId>r</requestId><tagSet><item><key>a&amp;b</key><value/></item><item><key>&lt;c&gt;</key><value>d</value></item></tagSet><groupSet/><nextToken>5</nextToken></Answer>");
    }
}
