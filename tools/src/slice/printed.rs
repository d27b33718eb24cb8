//! Finds the first traceback in a program's output. It is needed if a test runner or the program
//! itself caught the exception, so that it does not reach the recorder.

use crate::execute::Raised;

const HEAD: &str = "Traceback (most recent call last):";

/// The exception of the first whole traceback of a text.
pub(crate) fn printed(text: &str) -> Option<Raised> {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(margin) = line.strip_suffix(HEAD) else { continue };
        let mut frames = Vec::new();
        for line in lines.by_ref() {
            let Some(inner) = line.strip_prefix(margin) else { break };
            if let Some(frame) = inner.strip_prefix("  File ") {
                frames.extend(frame_of(frame));
                continue;
            }
            if inner.starts_with(' ') || inner.is_empty() {
                continue;
            }
            let Some((name, message)) = exception(inner) else { break };
            let (module, kind) = name.rsplit_once('.').unwrap_or(("builtins", name));
            return Some(Raised {
                kind: kind.to_owned(),
                module: module.to_owned(),
                message: message.to_owned(),
                frames,
                ..Raised::default()
            });
        }
    }
    None
}

/// `"path", line 12, in name`.
fn frame_of(text: &str) -> Option<(String, u32, String)> {
    let (path, rest) = text.strip_prefix('"')?.split_once("\", line ")?;
    let (line, name) = rest.split_once(", in ").unwrap_or((rest, ""));
    Some((path.to_owned(), line.trim().parse().ok()?, name.to_owned()))
}

/// `module.Kind: message`, or `module.Kind` alone.
fn exception(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.split_once(": ").unwrap_or((line, ""));
    let is_name =
        |part: &str| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric());
    name.split('.').all(is_name).then_some((name, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Module, name and message of an exception, and its frames.
    type Expected<'e> = (&'e str, &'e str, &'e str, &'e [(&'e str, u32, &'e str)]);

    #[track_caller]
    fn check(text: &str, expected: Option<Expected<'_>>) {
        let found = printed(text);
        let expected = expected.map(|(module, kind, message, frames)| Raised {
            kind: kind.to_owned(),
            module: module.to_owned(),
            message: message.to_owned(),
            frames: frames
                .iter()
                .map(|(path, line, name)| ((*path).to_owned(), *line, (*name).to_owned()))
                .collect(),
            ..Raised::default()
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_first_traceback_counts() {
        check(
            "ERROR: test_f\n----\nTraceback (most recent call last):\n  File \"/a/b.py\", line 3, in f\n    \
             g()\n    ^^^\n  File \"c.py\", line 4, in <module>\n    raise X\npkg.Odd: not: here\n\n\
             Traceback (most recent call last):\n  File \"d.py\", line 1, in h\nKeyError: 'x'\n",
            Some(("pkg", "Odd", "not: here", &[("/a/b.py", 3, "f"), ("c.py", 4, "<module>")])),
        );
    }

    #[test]
    fn a_margin_is_no_part_of_it() {
        check(
            "    Exception raised:\n        Traceback (most recent call last):\n          \
             File \"a.py\", line 2, in f\n            x\n        NameError: name 'x' is not defined\n",
            Some(("builtins", "NameError", "name 'x' is not defined", &[("a.py", 2, "f")])),
        );
    }

    #[test]
    fn what_is_cut_off_is_none() {
        check("Traceback (most recent call last):\n  File \"a.py\", line 2, in f\n", None);
        check("all is well\n", None);
        check("Traceback (most recent call last):\n*** odd\n", None);
    }
}
