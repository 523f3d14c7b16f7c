//! Trees of XML elements, as EC2 writes them.

use std::fmt::Display;
use std::io;

use quick_xml::Writer;
use quick_xml::escape::partial_escape;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// An element without attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    name: &'static str,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Text(String),
    Children(Vec<Element>),
}

/// An element with a text.
pub(crate) fn text(name: &'static str, value: impl Display) -> Element {
    Element { name, content: Content::Text(value.to_string()) }
}

/// An element with elements.
#[must_use]
pub(crate) const fn parent(name: &'static str, children: Vec<Element>) -> Element {
    Element { name, content: Content::Children(children) }
}

/// A list: each member is an `item` of elements. An empty list is an empty element.
pub(crate) fn list(name: &'static str, members: impl IntoIterator<Item = Vec<Element>>) -> Element {
    parent(name, members.into_iter().map(|member| parent("item", member)).collect())
}

/// A list whose members are texts.
pub(crate) fn texts<T: Display>(name: &'static str, members: impl IntoIterator<Item = T>) -> Element {
    parent(name, members.into_iter().map(|member| text("item", member)).collect())
}

/// Writes a document. Its root has a namespace, if any.
///
/// # Errors
/// None in practice: memory does not refuse writes.
pub(crate) fn document(root: &str, namespace: Option<&str>, children: &[Element]) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new());
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let element = writer.create_element(root);
    let element = match namespace {
        Some(namespace) => element.with_attribute(("xmlns", namespace)),
        None => element,
    };
    element.write_inner_content(|writer| children.iter().try_for_each(|child| write(writer, child)))?;
    Ok(writer.into_inner())
}

fn write(writer: &mut Writer<Vec<u8>>, element: &Element) -> io::Result<()> {
    let new = writer.create_element(element.name);
    match &element.content {
        Content::Text(text) if text.is_empty() => new.write_empty()?,
        Content::Text(text) => {
            new.write_text_content(BytesText::from_escaped(partial_escape(text.as_str())))?
        }
        Content::Children(children) if children.is_empty() => new.write_empty()?,
        Content::Children(children) => {
            new.write_inner_content(|writer| children.iter().try_for_each(|child| write(writer, child)))?
        }
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_items_and_texts_are_escaped() {
        let tree = [
            text("requestId", "r"),
            list("tagSet", [vec![text("key", "a&b"), text("value", "")], vec![text("key", "<c>")]]),
            list("groupSet", []),
        ];
        let written = String::from_utf8(document("Answer", Some("http://x/"), &tree).unwrap()).unwrap();
        insta::assert_snapshot!(written, @r#"<?xml version="1.0" encoding="UTF-8"?><Answer xmlns="http://x/"><requestId>r</requestId><tagSet><item><key>a&amp;b</key><value/></item><item><key>&lt;c&gt;</key></item></tagSet><groupSet/></Answer>"#);
    }
}
