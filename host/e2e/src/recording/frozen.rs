//! Decodes messages as the programs of a recorded version do: by that version's own protocol.
//!
//! The build script generates the messages from the `.proto` files in each folder of `recordings/`. A decoded message becomes JSON
//! with a key for each field of that protocol; fields that a newer version has added are ignored, as an old program ignores them.

use std::collections::BTreeMap;

use anyhow::Context;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost::Message;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::wire::{Answer, Call, Status};

include!(concat!(env!("OUT_DIR"), "/recordings.rs"));

/// The protocol of a recorded version.
#[derive(Debug)]
pub struct Protocol {
    /// The folder's name.
    pub folder: &'static str,
    /// Methods of the service.
    pub methods: &'static [Method],
}

/// A method and the decoders of its messages.
#[derive(Debug)]
pub struct Method {
    /// The path, `/package.Service/Method`.
    pub path: &'static str,
    request: Read,
    response: Read,
}

type Read = fn(&[u8]) -> Result<Value, serde_json::Error>;

impl Protocol {
    /// The protocol of a folder.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn of(folder: &str) -> anyhow::Result<&'static Self> {
        PROTOCOLS
            .iter()
            .find(|protocol| protocol.folder == folder)
            .with_context(|| format!("no protocol in {folder}"))
    }

    fn method(&self, path: &str) -> anyhow::Result<&Method> {
        self.methods.iter().find(|method| method.path == path).with_context(|| format!("no method {path}"))
    }

    /// Decodes a request as a daemon of that version does.
    ///
    /// # Errors
    /// When the protocol has no such method, or a message is malformed.
    pub fn read_call(&self, call: &Call) -> anyhow::Result<Value> {
        let read = self.method(&call.method)?.request;
        let messages = call.sent.iter().map(|message| read(&message.0)).collect::<Result<Vec<_>, _>>();
        messages.map(Value::Array).with_context(|| call.method.clone())
    }

    /// Decodes an answer as a program of that version does.
    ///
    /// # Errors
    /// When the protocol has no such method, or a message is malformed.
    pub fn read_answer(&self, method: &str, answer: &Answer) -> anyhow::Result<Value> {
        let read = self.method(method)?.response;
        let messages = answer.messages.iter().map(|message| read(&message.0)).collect::<Result<Vec<_>, _>>();
        let messages = messages.map(Value::Array).with_context(|| method.to_owned())?;
        Ok(json!({ "code": answer.status.code, "error": error(&answer.status)?, "messages": messages }))
    }
}

/// Decodes the details of a failure; null where there are none.
fn error(status: &Status) -> anyhow::Result<Value> {
    if status.details.is_empty() {
        return Ok(Value::Null);
    }
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let details = GeneralPurpose::new(&STANDARD, config).decode(&status.details)?;
    let status = google::Status::decode(details.as_slice())?;
    let info = |detail: &google::Any| {
        let ours = detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo";
        ours.then(|| google::ErrorInfo::decode(detail.value.as_slice()))
    };
    let info = status.details.iter().find_map(info).context("a status without an ErrorInfo")??;
    Ok(json!({
        "grpc": status.code,
        "message": status.message,
        "name": info.reason,
        "domain": info.domain,
        "metadata": info.metadata,
    }))
}

/// The messages of `google.rpc` that carry an error.
mod google {
    use super::{BTreeMap, Message};

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Status {
        #[prost(int32, tag = "1")]
        pub(super) code: i32,
        #[prost(string, tag = "2")]
        pub(super) message: String,
        #[prost(message, repeated, tag = "3")]
        pub(super) details: Vec<Any>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Any {
        #[prost(string, tag = "1")]
        pub(super) type_url: String,
        #[prost(bytes = "vec", tag = "2")]
        pub(super) value: Vec<u8>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ErrorInfo {
        #[prost(string, tag = "1")]
        pub(super) reason: String,
        #[prost(string, tag = "2")]
        pub(super) domain: String,
        #[prost(btree_map = "string, string", tag = "3")]
        pub(super) metadata: BTreeMap<String, String>,
    }
}

fn read<M: Message + Default + Serialize>(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let message = M::decode(bytes).map_err(serde::de::Error::custom)?;
    serde_json::to_value(&message)
}

/// Serializes a field of bytes as the JSON that it contains.
fn shown<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let text = String::from_utf8_lossy(bytes);
    super::programs::json(&text).serialize(serializer)
}
