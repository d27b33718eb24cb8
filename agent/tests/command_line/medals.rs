//! `gistify medals`: tables of results, and results that are none.

use std::fs;

use serde_json::{Value, json};

use super::{User, fixing::assert_refused};

#[test]
fn results_become_shares() {
    let user = User::new();
    let rows = [
        json!({ "competition": "mlsp-2013-birds", "score": 0.95, "valid": true, "solver": "a" }),
        json!({ "competition": "leaf-classification", "score": null, "valid": false, "solver": "b" }),
    ];
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(user.here().join("results.jsonl"), text).unwrap();
    let ran = user.gistify(&["medals", "results.jsonl", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tables: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        tables["medals"][0],
        json!({
            "solver": "a", "made": "4.55", "valid": "4.55", "above median": "4.55", "bronze": "0.00",
            "silver": "0.00", "gold": "4.55", "any medal": "4.55",
        })
    );
    assert_eq!(tables["medals"][1]["made"], "0.00");
    assert_eq!(tables["competitions"][0]["medal"], "gold");

    let own = "version = 1\nname = \"own\"\n[[competition]]\nname = \"c\"\nbetter = \"lower\"\n\
               gold = 1\nsilver = 2\nbronze = 3\nmedian = 4\n";
    fs::write(user.here().join("own.toml"), own).unwrap();
    let args = ["medals", "results.jsonl", "--competitions", "own.toml"];
    let ran = user.gistify(&args);
    let expected = "read results results.jsonl: line 1: own has no competition \"mlsp-2013-birds\"";
    assert_refused(&ran, 3, expected);
    fs::write(
        user.here().join("results.jsonl"),
        r#"{"competition": "c", "score": 2, "valid": true}"#,
    )
    .unwrap();
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("silver"), "{}", ran.out);
    let ran = user.gistify(&["medals", "none.jsonl"]);
    assert_refused(&ran, 3, "read results none.jsonl: there is no such file");
}
