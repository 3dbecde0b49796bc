//! The OpenAPI description that a server serves, which is the contract with HTTP clients.

use serde_json::{Value, json};

use crate::client::{Up, home};
use crate::home::Engine;

#[test]
fn the_http_contract_is_the_one_in_the_reference() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let mut document = up.ask("GET", "/api/v1/openapi.json", &[], None).body;
    // A release changes the version and not the contract.
    assert_eq!(document["info"]["version"].take(), env!("CARGO_PKG_VERSION"));
    document["info"]["version"] = json!("VERSION");
    let page: Value = serde_json::from_str(include_str!("../../../../docs/reference/openapi.json")).unwrap();
    assert_eq!(document, page);
}
