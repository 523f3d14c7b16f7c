//! Enumerations that travel as one word of an object. A word that this version does not know is an error, never a default.

/// A word of an object that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} {word:?}")]
pub struct UnknownWord {
    /// The enumeration's name.
    pub kind: &'static str,
    /// The word as it was read.
    pub word: String,
}

/// Defines an enumeration with its words: `as_str`, `ALL`, `Display` and `FromStr`.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$case:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$case])* $variant,)+ }

        impl $name {
            /// Every case, in the order of the definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in the object.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::word::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::word::UnknownWord { kind: stringify!($name), word: word.to_owned() }),
                }
            }
        }
    };
}

pub(crate) use words;
