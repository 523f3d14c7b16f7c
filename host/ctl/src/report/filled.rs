//! Messages of the protocol in which every field has a value, so that a field that is added or renamed shows in the snapshots.

use std::collections::HashMap;

use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};

/// A message with every field set: text is its field's name, numbers count upwards, and lists and maps have two entries.
pub(super) fn filled<M: prost::Message + Default>(name: &str) -> M {
    let pool = DescriptorPool::decode(tenure_rpc::v1::FILE_DESCRIPTOR_SET).unwrap();
    let message = pool.get_message_by_name(&format!("tenure.v1.{name}")).unwrap();
    Filler::default().message(message).transcode_to().unwrap()
}

/// The sources of texts and of numbers of 64 bits, by their fields.
pub(super) struct Values {
    /// The text of a field, by its full name and its name with its place in a list.
    pub(super) text: fn(&str, &str) -> String,
    /// The number of a field, by its name and a number that counts upwards.
    pub(super) number: fn(&str, u32) -> u64,
}

/// The same with other texts and numbers.
pub(super) fn filled_with<M: prost::Message + Default>(name: &str, values: Values) -> M {
    let pool = DescriptorPool::decode(tenure_rpc::v1::FILE_DESCRIPTOR_SET).unwrap();
    let message = pool.get_message_by_name(&format!("tenure.v1.{name}")).unwrap();
    Filler { number: 100_000, values: Some(values) }.message(message).transcode_to().unwrap()
}

#[derive(Default)]
struct Filler {
    number: u32,
    values: Option<Values>,
}

impl Filler {
    fn message(&mut self, message: MessageDescriptor) -> DynamicMessage {
        let mut filled = DynamicMessage::new(message);
        for field in filled.descriptor().fields() {
            // Of the owners of an allocation, the one with the most to say.
            if ["Allocation.attachment", "Allocation.unknown"]
                .iter()
                .any(|other| field.full_name().ends_with(other))
            {
                continue;
            }
            let value = self.value(&field);
            filled.set_field(&field, value);
        }
        filled
    }

    fn value(&mut self, field: &FieldDescriptor) -> Value {
        let name = field.name().to_owned();
        if let (true, Kind::Message(entry)) = (field.is_map(), field.kind()) {
            let of = entry.map_entry_value_field();
            let entries = ["b", "a"].map(|key| (MapKey::String(key.to_owned()), self.one(&of, &name)));
            return Value::Map(HashMap::from(entries));
        }
        if field.is_list() {
            return Value::List(["1", "2"].map(|at| self.one(field, &format!("{name}-{at}"))).into());
        }
        self.one(field, &name)
    }

    fn one(&mut self, field: &FieldDescriptor, text: &str) -> Value {
        self.number += 1;
        match (field.kind(), &self.values) {
            (Kind::String, Some(values)) => return Value::String((values.text)(field.full_name(), text)),
            (Kind::Uint64, Some(values)) => return Value::U64((values.number)(field.name(), self.number)),
            _ => {}
        }
        match field.kind() {
            Kind::String => Value::String(text.to_owned()),
            Kind::Bytes => Value::Bytes(text.to_owned().into_bytes().into()),
            Kind::Bool => Value::Bool(true),
            Kind::Uint32 => Value::U32(self.number),
            Kind::Uint64 => Value::U64(self.number.into()),
            Kind::Int64 => Value::I64(self.number.into()),
            Kind::Double => Value::F64(f64::from(self.number) + 0.5),
            Kind::Enum(_) => Value::EnumNumber(1),
            Kind::Message(message) => Value::Message(self.message(message)),
            kind => unreachable!("no field of {kind:?} is shown"),
        }
    }
}
