//! Serde forms of types that do not know how they are stored, for `#[serde(with = ...)]`.
//!
//! A form is a mirror of its type, with serde's `remote`: its fields and variants are checked against those of the type, and serde
//! writes both conversions. A type that is stored differently from how it is in memory has a stored type, with conversions by hand
//! ([`As`]).

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A mirror of a type; [`form`] implements it.
pub(crate) trait Form {
    /// The type.
    type Of;

    fn write<S: Serializer>(of: &Self::Of, to: S) -> Result<S::Ok, S::Error>;

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Of, D::Error>;
}

/// Makes a mirror with `#[serde(remote = ...)]` a [`Form`].
macro_rules! form {
    ($form:ident of $of:ty) => {
        impl $crate::v1::form::Form for $form {
            type Of = $of;

            fn write<S: serde::Serializer>(of: &$of, to: S) -> Result<S::Ok, S::Error> {
                Self::serialize(of, to)
            }

            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<$of, D::Error> {
                Self::deserialize(from)
            }
        }
    };
}

pub(crate) use form;

/// A value to be written in its form.
pub(super) struct WrittenForm<'a, F: Form>(pub(super) &'a F::Of);

impl<F: Form> Serialize for WrittenForm<'_, F> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, to)
    }
}

/// A value that was read in its form.
struct Read<F: Form>(F::Of);

impl<'de, F: Form> Deserialize<'de> for Read<F> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        F::read(from).map(Self)
    }
}

/// Reads a value from the JSON of its form.
pub(super) fn from_json<F: Form>(json: &str) -> serde_json::Result<F::Of> {
    serde_json::from_str(json).map(|Read::<F>(value)| value)
}

/// A list of values in a form.
pub(super) struct Each<F>(PhantomData<F>);

impl<F: Form> Each<F> {
    pub(super) fn serialize<'a, L, S>(list: &'a L, to: S) -> Result<S::Ok, S::Error>
    where
        &'a L: IntoIterator<Item = &'a F::Of>,
        F::Of: 'a,
        S: Serializer,
    {
        to.collect_seq(list.into_iter().map(WrittenForm::<F>))
    }

    pub(super) fn deserialize<'de, L, D>(from: D) -> Result<L, D::Error>
    where
        L: FromIterator<F::Of>,
        D: Deserializer<'de>,
    {
        let list: Vec<Read<F>> = Vec::deserialize(from)?;
        Ok(list.into_iter().map(|Read(value)| value).collect())
    }
}

/// A value in a form, or none.
pub(super) struct Maybe<F>(PhantomData<F>);

impl<F: Form> Maybe<F> {
    pub(super) fn serialize<S: Serializer>(value: &Option<F::Of>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(WrittenForm::<F>).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<F::Of>, D::Error> {
        Ok(Option::deserialize(from)?.map(|Read::<F>(value)| value))
    }
}

/// A value in a form that is borrowed to be written.
pub(super) struct Lent<F>(PhantomData<F>);

impl<F: Form<Of: Clone>> Lent<F> {
    #[expect(clippy::ptr_arg, reason = "serde passes a reference to the field")]
    pub(super) fn serialize<S: Serializer>(value: &Cow<'_, F::Of>, to: S) -> Result<S::Ok, S::Error> {
        F::write(value, to)
    }

    pub(super) fn deserialize<'de, 'a, D: Deserializer<'de>>(from: D) -> Result<Cow<'a, F::Of>, D::Error> {
        F::read(from).map(Cow::Owned)
    }
}

/// A value that is stored as another type.
pub(super) struct As<S>(PhantomData<S>);

impl<S> As<S> {
    pub(super) fn serialize<'a, T, Z>(value: &'a T, to: Z) -> Result<Z::Ok, Z::Error>
    where
        S: From<&'a T> + Serialize,
        Z: Serializer,
    {
        S::from(value).serialize(to)
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        S: Deserialize<'de> + TryInto<T, Error: Display>,
        D: Deserializer<'de>,
    {
        S::deserialize(from)?.try_into().map_err(D::Error::custom)
    }
}
