//! Data read back from their JSON form.

use crate::datum::Datum;
use dmci_value::Shape;
use serde_json::Value as Json;

impl Datum {
    /// The datum of [`Datum::to_json`]; none if it is the form of no datum that a program can be given.
    pub fn from_json(json: &Json) -> Option<Datum> {
        let list = |items: &[Json]| items.iter().map(Datum::from_json).collect::<Option<Vec<Datum>>>();
        Some(match json {
            Json::Null => Datum::Unspecified,
            Json::Bool(b) => Datum::Bool(*b),
            Json::String(s) => Datum::String(s.clone()),
            Json::Number(n) => match n.as_i64() {
                Some(i) => Datum::Integer(i),
                None if n.is_u64() => Datum::BigInteger(n.to_string()),
                None => Datum::Real(n.as_f64()?),
            },
            Json::Array(items) => Datum::list(list(items)?),
            Json::Object(fields) => {
                let mut entries = fields.iter();
                let (key, value) = entries.next()?;
                match (key.as_str(), value, entries.next()) {
                    ("real", Json::String(word), None) => Datum::Real(real(word)?),
                    ("int", Json::String(digits), None) => match digits.parse() {
                        Ok(i) => Datum::Integer(i),
                        Err(_) => Datum::BigInteger(whole(digits)?),
                    },
                    ("char", Json::String(text), None) => {
                        let mut chars = text.chars();
                        let first = chars.next()?;
                        chars.next().is_none().then_some(Datum::Char(first))?
                    }
                    ("symbol", Json::String(name), None) => Datum::Symbol(name.clone()),
                    ("vector", Json::Array(items), None) => Datum::Vector(list(items)?),
                    ("tensor", Json::Array(items), None) => tensor(items)?,
                    ("bytes", Json::Array(items), None) => {
                        let byte = |item: &Json| item.as_u64().and_then(|b| u8::try_from(b).ok());
                        Datum::Bytes(items.iter().map(byte).collect::<Option<_>>()?)
                    }
                    ("list", Json::Array(items), Some((tail, value))) if tail == "tail" && fields.len() == 2 => {
                        Datum::List(list(items)?, Some(Box::new(Datum::from_json(value)?)))
                    }
                    _ => return None,
                }
            }
        })
    }
}

fn real(word: &str) -> Option<f64> {
    match word {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn whole(digits: &str) -> Option<String> {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    (!unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit())).then(|| digits.to_string())
}

/// A vector of numbers, or a matrix of rows of the same length.
fn tensor(items: &[Json]) -> Option<Datum> {
    let numbers = |items: &[Json]| -> Option<Vec<f64>> {
        items.iter().map(|item| Datum::from_json(item).and_then(|datum| datum.as_f64())).collect()
    };
    let count = |items: &[Json]| u32::try_from(items.len()).ok();
    let Some(Json::Array(first)) = items.first() else {
        return Some(Datum::Tensor(Shape::Vector(count(items)?), numbers(items)?));
    };
    let rows = items.iter().map(|row| row.as_array().filter(|row| row.len() == first.len()));
    let rows = rows.map(|row| numbers(row?)).collect::<Option<Vec<_>>>()?;
    Some(Datum::Tensor(Shape::Matrix(count(items)?, count(first)?), rows.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_survive_their_json_form() {
        let data = [
            Datum::Integer(-3),
            Datum::Integer(i64::MAX),
            Datum::BigInteger("123456789012345678901234567890".into()),
            Datum::Real(2.0),
            Datum::Real(0.1 + 0.2),
            Datum::Real(f64::INFINITY),
            Datum::Bool(true),
            Datum::Char('x'),
            Datum::String("a".into()),
            Datum::Symbol("b".into()),
            Datum::list(vec![Datum::Integer(1), Datum::Real(2.5)]),
            Datum::List(vec![Datum::Integer(1)], Some(Box::new(Datum::Symbol("rest".into())))),
            Datum::Vector(vec![Datum::Bool(false)]),
            Datum::Tensor(Shape::Vector(2), vec![1.0, -0.5]),
            Datum::Tensor(Shape::Matrix(1, 2), vec![1.0, 2.0]),
            Datum::Bytes(vec![0, 255]),
            Datum::Unspecified,
        ];
        for datum in data {
            let text = datum.to_json().to_string();
            assert_eq!(Datum::from_json(&serde_json::from_str(&text).unwrap()), Some(datum), "{text}");
        }
        for text in ["{}", r#"{"real": 1}"#, r#"{"int": "x"}"#, r#"{"char": "ab"}"#, r#"{"tensor": [[1], [1, 2]]}"#] {
            assert_eq!(Datum::from_json(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
    }
}
