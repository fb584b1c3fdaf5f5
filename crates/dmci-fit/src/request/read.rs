//! Settings from tables of JSON: unknown names, values of the wrong type, and lists that may be one text.

use super::refuse::refusal;
use dmci::{Bindings, Datum, Report, nearest};
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::{Map, Value as Json};
use std::fmt;

/// A table in the order in which it is written.
pub struct Pairs(pub Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// The settings of a table, understood by `read`; names that are none of the known ones are refused, and a value that
/// cannot be understood is named.
pub fn from_map<T>(
    mut settings: Map<String, Json>,
    known: &[String],
    read: impl Fn(Map<String, Json>) -> Result<T, serde_json::Error>,
) -> Result<T, Report> {
    settings.retain(|_, value| !value.is_null());
    if let Some(name) = settings.keys().find(|name| !known.contains(name)) {
        let help = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean ‹{near}›?"),
            None => format!("the settings are {}", known.join(", ")),
        };
        return Err(refusal(format!("there is no setting {name}"), help));
    }
    let error = match read(settings.clone()) {
        Ok(settings) => return Ok(settings),
        Err(error) => error,
    };
    for (name, value) in settings {
        if let Err(error) = read(Map::from_iter([(name.clone(), value.clone())])) {
            let text = error.to_string();
            let expected = text.rsplit_once("expected ").map_or(text.as_str(), |(_, expected)| expected);
            let expected = match expected {
                "u64" | "usize" => "a whole number of at least 0",
                "f64" => "a number",
                "a boolean" => "true or false",
                other => other,
            };
            let message = format!("‹{name}› must be {expected}, got {value}");
            return Err(refusal(message, format!("write a value of that type for ‹{name}›, or leave it out")));
        }
    }
    Err(refusal(format!("the settings cannot be read: {error}"), "check their types"))
}

/// The table of a text in JSON.
pub fn json_map(text: &str) -> Result<Map<String, Json>, Report> {
    serde_json::from_str(text).map_err(|error| refusal(format!("the request is no JSON object: {error}"), FORM))
}

/// The table of a text in TOML.
pub fn toml_map(text: &str) -> Result<Map<String, Json>, Report> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().replace('\n', " ");
        refusal(format!("the request is no TOML: {message}"), FORM)
    })
}

/// How a request is written.
const FORM: &str = "write settings as fields of one table, such as {\"target\": [\"y\"], \"restarts\": 20} in JSON";

/// Values for names, as a table.
pub mod bindings {
    use super::*;

    pub fn serialize<S: Serializer>(bindings: &Bindings, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(bindings.len()))?;
        for (name, datum) in bindings {
            map.serialize_entry(name, &datum.to_json())?;
        }
        map.end()
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bindings, D::Error> {
        let pairs = Pairs::deserialize(deserializer)?;
        let binding = |(name, json): (String, Json)| match Datum::from_json(&json) {
            Some(datum) => Ok((name, datum)),
            None => Err(D::Error::custom("expected a table of names and data")),
        };
        pairs.0.into_iter().map(binding).collect()
    }
}

/// A text or a list of texts.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub enum Words {
    One(String),
    Many(Vec<String>),
}

/// A text or a number, in the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub enum TextOrNumber {
    Text(String),
    Number(f64),
}

/// A list of texts; a text is a list of one.
pub fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Words::deserialize(deserializer)? {
        Words::One(name) => vec![name],
        Words::Many(names) => names,
    })
}

/// A list of texts; a text is a list with commas.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Words::deserialize(deserializer)? {
        Words::One(list) => list.split(',').map(|word| word.trim().to_string()).collect(),
        Words::Many(words) => words,
    })
}

/// The same, if it is there.
pub fn some_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    words(deserializer).map(Some)
}

/// A text, or a number that is taken for its text.
pub fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Json::deserialize(deserializer)? {
        Json::String(text) => Ok(Some(text)),
        Json::Number(number) => Ok(Some(number.to_string())),
        _ => Err(D::Error::custom("expected a text or a number")),
    }
}
