use super::*;

/// A token is four bytes.
const TOKENS: usize = 2_000;

#[test]
fn the_tools_fit_into_the_budget() {
    let cost = |tool: &Tool| {
        let shown = tool.shown();
        let schema = serde_json::to_string(&*shown.input_schema).unwrap();
        shown.name.len() + shown.description.unwrap_or_default().len() + schema.len()
    };
    let costs: Vec<(&str, usize)> = ALL.iter().map(|tool| (tool.name, cost(tool))).collect();
    let total: usize = costs.iter().map(|(_, cost)| cost).sum();
    assert!(ALL.len() <= 10);
    assert!(total.div_ceil(4) <= TOKENS, "{total} bytes are {} tokens: {costs:?}", total.div_ceil(4));
}

#[test]
fn every_schema_is_an_object_without_references() {
    for tool in ALL {
        let shown = serde_json::to_value(tool.shown()).unwrap();
        for schema in [&shown["inputSchema"], &shown["outputSchema"]] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let text = schema.to_string();
            for unwanted in ["$ref", "$defs", "$schema", "\"title\":\""] {
                assert!(!text.contains(unwanted), "{} has {unwanted}: {text}", tool.name);
            }
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(shown["annotations"][hint].is_boolean(), "{} does not say {hint}", tool.name);
        }
    }
}

#[test]
fn only_what_reads_runs_no_op() {
    for tool in ALL {
        assert_eq!(tool.ops.is_empty(), tool.nature == Nature::Reads, "{}", tool.name);
    }
}
