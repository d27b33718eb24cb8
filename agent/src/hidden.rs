//! Characters that nobody sees, and that change what is seen or what a model reads: tags, overrides of the direction of
//! writing, joiners and other blanks without a width. They are shown as escapes.

use std::{borrow::Cow, fmt::Write as _};

/// Returns true for a character that has no shape of its own (Unicode 16, default ignorable code points).
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A text with such characters as the escapes of JSON, `\u202e`: in JSON they mean the same as before.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_with(text, "\\u")
}

/// The same with other letters before the number.
pub fn escaped_with<'t>(text: &'t str, sign: &str) -> Cow<'t, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "{sign}{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l05_what_nobody_sees_is_shown() {
        for (text, expected) in [
            ("plain é 日本 \u{1f600}", "plain é 日本 \u{1f600}"),
            ("a\u{202e}b\u{200b}", "a\\u202eb\\u200b"),
            ("\u{e0041}", "\\udb40\\udc41"),
        ] {
            assert_eq!(escaped(text), expected);
            let json: String = serde_json::from_str(&format!("\"{}\"", escaped(text))).unwrap();
            assert_eq!(json, text);
        }
    }
}
