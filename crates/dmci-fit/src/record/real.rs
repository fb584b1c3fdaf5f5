//! Numbers that JSON cannot hold: those that are not finite are words, `{"real": "nan"}`, and large integers are
//! digits, `{"int": "..."}`.

use dmci::Datum;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

/// A number that may be anything a float can be.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Real(pub f64);

impl Default for Real {
    /// Nothing is known.
    fn default() -> Self {
        Real(f64::NAN)
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Datum::Real(self.0).to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Datum::from_json(&Json::deserialize(deserializer)?).and_then(|datum| datum.as_f64());
        number.map(Real).ok_or_else(|| D::Error::custom("expected a number"))
    }
}

/// Whole numbers of 64 bits.
pub mod exact {
    use super::*;

    pub fn serialize<S: Serializer>(n: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        let datum = i64::try_from(*n).map_or(Datum::BigInteger(n.to_string()), Datum::Integer);
        datum.to_json().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let datum = Datum::from_json(&Json::deserialize(deserializer)?);
        let number = match datum {
            Some(Datum::Integer(i)) => u64::try_from(i).ok(),
            Some(Datum::BigInteger(digits)) => digits.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| D::Error::custom("expected a whole number of at least 0"))
    }
}
