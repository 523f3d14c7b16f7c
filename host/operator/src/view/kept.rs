//! The part of an object that is kept: it is read once, when a watch shows it or a write returns it, and its parts that nobody reads go.

use std::fmt::Debug;
use std::sync::Arc;

use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::DeserializeOwned;
use tenure_cluster::ConversionError;
use tenure_cluster::convert::object_version;
use tenure_leases::{ObjectVersion, Uid};

/// A type that is read from the objects of one kind.
pub trait FromObject: Debug + PartialEq + Sized + Send + Sync + 'static {
    /// The kind.
    type Object: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static;

    /// The objects of a page of a list. A page is in memory as a whole, as text and as objects, and pages of all kinds are so at once; each is a call
    /// that a leader waits for before its first grant. So kinds with small objects have large pages, of about a megabyte.
    const PAGE: u32 = 100;

    /// Reads an object.
    ///
    /// # Errors
    /// If this version does not understand it.
    fn from_object(object: Self::Object) -> Result<Self, ConversionError>;
}

/// An object as the operator keeps it.
#[derive(Debug, PartialEq)]
pub struct KeptObject<V> {
    /// The name, after the namespace if there is one.
    pub name: Arc<str>,
    /// The uid.
    pub uid: Option<Uid>,
    /// The version.
    pub version: Option<ObjectVersion>,
    /// The part that was read, or why it cannot be read.
    pub read: Result<Arc<V>, Box<str>>,
}

impl<V> Clone for KeptObject<V> {
    fn clone(&self) -> Self {
        let Self { name, uid, version, read } = self;
        Self { name: Arc::clone(name), uid: *uid, version: *version, read: read.clone() }
    }
}

impl<V: FromObject> KeptObject<V> {
    /// Reads an object, without its managed fields.
    #[must_use]
    pub fn of(mut object: V::Object) -> Self {
        let metadata = object.meta_mut();
        metadata.managed_fields = None;
        let name = full_name(metadata);
        let uid = metadata.uid.as_deref().and_then(|uid| uid.parse().ok());
        let version = object_version(metadata).ok();
        let read = V::from_object(object).map(Arc::new).map_err(|error| error.to_string().into());
        Self { name, uid, version, read }
    }

    /// The reason, for people, for which the object cannot be read; `None` if it can.
    pub(super) fn complaint(&self) -> Option<String> {
        let why = self.read.as_ref().err()?;
        Some(format!("{} {}: {why}", V::Object::kind(&()), self.name))
    }
}

/// The name of an object, after its namespace if it has one.
pub(super) fn full_name(metadata: &ObjectMeta) -> Arc<str> {
    let name = metadata.name.as_deref().unwrap_or_default();
    match &metadata.namespace {
        Some(namespace) => format!("{namespace}/{name}").into(),
        None => name.into(),
    }
}
