//! The schemas for clients: generated from the request and answer structs, without keywords that cost tokens and say
//! nothing.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use tenure_core::{Code, Error, Result};

/// The schema of a request. Models read it, so every word of it is in their context.
pub(crate) fn input<T: JsonSchema>(without: &[&str]) -> Map<String, Value> {
    let schema = settings().for_deserialize().into_generator().into_root_schema_for::<T>();
    let mut schema = object(schema);
    schema.remove("description");
    plain(&mut schema, true);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !without.contains(&name.as_str()));
    }
    schema
}

/// The schema of one shape of an answer, for programs.
pub(crate) fn output<T: JsonSchema>() -> Value {
    let mut schema = object(settings().for_serialize().into_generator().into_root_schema_for::<T>());
    plain(&mut schema, false);
    Value::Object(schema)
}

/// The schema of all answers of a tool: its shapes, and an error. Some clients also validate the structured content of
/// errors, so the schema must include them.
pub(crate) fn answers(shapes: &[fn() -> Value]) -> Map<String, Value> {
    let mut any: Vec<Value> = shapes.iter().map(|shape| shape()).collect();
    any.push(json!({
        "type": "object",
        "properties": {
            "code": { "type": "string" },
            "kind": { "type": "string", "enum": tenure_core::Kind::ALL.map(tenure_core::Kind::as_str) },
            "message": { "type": "string" },
            "hint": { "type": ["string", "null"] },
            "retryable": { "type": "boolean" },
            "details": { "type": "object" },
        },
        "required": ["code", "kind", "message", "hint", "retryable", "details"],
    }));
    Map::from_iter([("type".to_owned(), json!("object")), ("anyOf".to_owned(), json!(any))])
}

fn settings() -> SchemaSettings {
    // Subschemas are inlined: not every client follows references.
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

fn object(schema: Schema) -> Map<String, Value> {
    match schema.to_value() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Removes keywords that say nothing. In a schema for models an absent field and `null` mean the same, so only the type
/// stays.
fn plain(schema: &mut Map<String, Value>, for_models: bool) {
    for key in ["title", "$schema", "format", "minimum", "default"] {
        schema.remove(key);
    }
    if for_models {
        without_null(schema);
    } else {
        schema.remove("description");
    }
    names(schema);
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.trim_end_matches('.').replace('\n', " ");
    }
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                for field in fields.values_mut() {
                    plain_value(field, for_models);
                }
            }
            ("items" | "additionalProperties", field) => plain_value(field, for_models),
            ("anyOf" | "oneOf" | "allOf", Value::Array(several)) => {
                several.iter_mut().for_each(|one| plain_value(one, for_models));
            }
            _ => {}
        }
    }
}

fn plain_value(schema: &mut Value, for_models: bool) {
    if let Value::Object(fields) = schema {
        plain(fields, for_models);
    }
}

fn without_null(schema: &mut Map<String, Value>) {
    let null = |value: &Value| value == "null" || value["type"] == "null";
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| !null(name));
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(several)) = schema.get_mut("anyOf") {
        several.retain(|one| !null(one));
        if let [Value::Object(only)] = several.as_slice() {
            let mut only = only.clone();
            schema.remove("anyOf");
            // The field's own keywords take precedence over those of its type.
            only.extend(std::mem::take(schema));
            *schema = only;
        }
    }
}

/// Turns a choice between constants into an `enum`.
fn names(schema: &mut Map<String, Value>) {
    let Some(Value::Array(several)) = schema.get("oneOf") else { return };
    let words: Option<Vec<Value>> = several
        .iter()
        .map(|one| one.get("const").cloned().map(|word| vec![word]).or_else(|| one.get("enum")?.as_array().cloned()))
        .collect::<Option<Vec<_>>>()
        .map(|words| words.concat());
    if let Some(words) = words {
        schema.remove("oneOf");
        schema.insert("type".into(), json!("string"));
        schema.insert("enum".into(), Value::Array(words));
    }
}

/// Checks arguments against the schema that the client was given, and names the field that does not fit. A field
/// removed from the schema is refused like any other unknown field.
pub(crate) fn check(schema: &Map<String, Value>, value: &Value) -> Result<()> {
    check_at(schema, value, "")
}

fn check_at(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<()> {
    if let Some(kind) = schema.get("type").and_then(Value::as_str)
        && !is(value, kind)
    {
        return Err(unfit(at, format!("{} is not {} {kind}", named(at), article(kind))));
    }
    if let Some(Value::Array(words)) = schema.get("enum")
        && !words.contains(value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Err(unfit(at, format!("{} is not one of {}", named(at), words.join(", "))));
    }
    if let (Some(Value::Object(fields)), Value::Object(given)) = (schema.get("properties"), value) {
        let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        for (name, value) in given {
            match fields.get(name) {
                Some(Value::Object(field)) if !value.is_null() => check_at(field, value, &below(name))?,
                Some(_) => {}
                None => {
                    let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                    return Err(unfit(&below(name), format!("{} is unknown", named(&below(name))))
                        .hint(format!("Known fields: {}.", known.join(", "))));
                }
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required {
            if given.get(name).is_none_or(Value::is_null) {
                return Err(unfit(&below(name), format!("{} is missing", named(&below(name)))));
            }
        }
    }
    if let (Some(Value::Object(items)), Value::Array(given)) = (schema.get("items"), value) {
        for (number, item) in given.iter().enumerate() {
            check_at(items, item, &format!("{at}[{number}]"))?;
        }
    }
    Ok(())
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" }
}

fn named(at: &str) -> String {
    if at.is_empty() { "the value".to_owned() } else { format!("`{}`", tenure_core::text::excerpt(at)) }
}

fn unfit(at: &str, message: String) -> Error {
    let error = Error::usage(Code::BadArguments, message);
    if at.is_empty() { error } else { error.entity(tenure_core::text::excerpt(at)) }
}

/// The arguments without nulls.
pub(crate) fn without_nulls(arguments: Map<String, Value>) -> Map<String, Value> {
    arguments.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    /// The request.
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Request {
        /// One line.
        title: String,
        /// Which.
        #[serde(default)]
        colour: Option<Colour>,
        /// Many.
        #[serde(default)]
        items: Vec<Item>,
        /// A number.
        #[serde(default)]
        count: Option<i64>,
        #[serde(default)]
        force: bool,
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        /// As blood.
        Red,
        /// As the sky.
        Blue,
    }

    /// An item.
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Item {
        /// Its text.
        text: String,
    }

    #[test]
    fn models_read_types_and_words_only() {
        assert_eq!(
            Value::Object(input::<Request>(&["force"])),
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["title"],
                "properties": {
                    "title": { "description": "One line", "type": "string" },
                    "colour": { "description": "Which", "type": "string", "enum": ["red", "blue"] },
                    "count": { "description": "A number", "type": "integer" },
                    "items": { "description": "Many", "type": "array", "items": {
                        "description": "An item", "type": "object", "additionalProperties": false,
                        "required": ["text"], "properties": { "text": { "description": "Its text", "type": "string" } },
                    } },
                },
            })
        );
    }

    #[test]
    fn programs_learn_what_may_be_null() {
        let schema = output::<Request>();
        assert_eq!(schema["properties"]["count"]["type"], json!(["integer", "null"]));
        assert_eq!(schema.get("description"), None);
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        let schema = input::<Request>(&["force"]);
        for (given, field) in [
            (json!({}), "title"),
            (json!({ "title": null }), "title"),
            (json!({ "title": 1 }), "title"),
            (json!({ "title": "x", "colour": "green" }), "colour"),
            (json!({ "title": "x", "count": 1.5 }), "count"),
            (json!({ "title": "x", "items": [{ "text": "a" }, { "text": 1 }] }), "items[1].text"),
            (json!({ "title": "x", "items": [{}] }), "items[0].text"),
            (json!({ "title": "x", "force": true }), "force"),
        ] {
            let error = check(&schema, &given).unwrap_err();
            assert_eq!((error.code().as_str(), error.about()), ("bad_arguments", Some(field)), "{given}");
            assert!(error.message().contains(field), "{error}");
        }
        check(&schema, &json!({ "title": "x", "colour": "red", "count": null, "items": [] })).unwrap();
    }
}
