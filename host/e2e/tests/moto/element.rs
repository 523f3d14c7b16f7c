//! An answer of EC2's query protocol, as a tree of elements.

use std::collections::BTreeSet;

use anyhow::Context;
use quick_xml::Reader;
use quick_xml::events::Event;

/// An element. Attributes are left out: only the root has one, the namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Element {
    name: String,
    text: String,
    children: Vec<Self>,
}

impl Element {
    /// The root of a document.
    pub(crate) fn parse(document: &str) -> anyhow::Result<Self> {
        let mut reader = Reader::from_str(document);
        // The first one holds the root.
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().with_context(|| document.to_owned())? {
                Event::Start(start) => open.push(Self::named(start.name().as_ref())),
                Event::Empty(empty) => add(&mut open, Self::named(empty.name().as_ref())),
                Event::End(_) => {
                    let ended = open.pop().context("an element that has begun")?;
                    add(&mut open, ended);
                }
                Event::Text(text) => {
                    if let Some(last) = open.last_mut() {
                        last.text.push_str(&text.xml10_content());
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        open.pop().and_then(|mut holder| holder.children.pop()).context("an element")
    }

    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The element's own name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The element's own text.
    pub(crate) fn content(&self) -> &str {
        &self.text
    }

    /// The elements at a path of names, such as `subnetSet/item`.
    pub(crate) fn all<'a>(&'a self, path: &str) -> Vec<&'a Self> {
        path.split('/').fold(vec![self], |found, name| {
            found.iter().flat_map(|of| &of.children).filter(|child| child.name == name).collect()
        })
    }

    /// The text of the first element at a path.
    pub(crate) fn text(&self, path: &str) -> anyhow::Result<&str> {
        let first = self.all(path).into_iter().next();
        first.map(|found| found.text.as_str()).with_context(|| format!("no {path} in {self:?}"))
    }

    /// The paths of all elements below it, each once.
    pub(crate) fn shape(&self) -> BTreeSet<String> {
        let below = |child: &Self| {
            let name = child.name.clone();
            let paths = child.shape().into_iter().map(move |path| format!("{name}/{path}"));
            paths.collect::<Vec<_>>()
        };
        let own = self.children.iter().map(|child| child.name.clone());
        own.chain(self.children.iter().flat_map(below)).collect()
    }
}

/// Puts an element into the one that is open.
fn add(open: &mut [Element], element: Element) {
    if let Some(last) = open.last_mut() {
        last.children.push(element);
    }
}
