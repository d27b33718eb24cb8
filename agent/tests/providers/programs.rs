//! A program of the user's in the place of a provider.

use super::*;

#[test]
fn a_program_can_be_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("model.sh");
    let write = |text: &str| std::fs::write(&script, text).unwrap();
    let server = Server::start(vec![hello()]);
    let supply = supply(&server, &format!("command/sh {}", script.display()), &[]);
    let check = |text: &str, expected: &str| {
        write(text);
        let mut model = open(&supply);
        assert_eq!(shown(&ask_with(&mut *model, &opening())), expected);
    };
    check(
        r#"read x; echo '{"calls": [{"tool": "view", "arguments": {"target": ""}}]}'"#,
        r#"|call view {"target":""}"#,
    );
    check("echo no call", "no call");
    check("printf '\\377'", "!it is not UTF-8");
    check("exit 3", "failed: sh ended with exit status: 3");
}
