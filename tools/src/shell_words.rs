//! Reads from a shell script what kind of step it is: for the account of effort alone, nothing is refused by it.
//!
//! It splits a script into simple commands at operators, outside of quotes and of the texts that follow `<<`. It
//! expands nothing, and takes the name of each command by its first word.

use crate::tool::Group;

/// Commands that show a file or a directory.
const VIEWS: [&str; 14] = [
    "cat", "head", "tail", "less", "more", "nl", "sed", "ls", "tree", "wc", "file", "stat", "awk",
    "diff",
];
/// Commands that look for something.
const SEARCHES: [&str; 9] = ["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "locate"];
/// Commands that write files.
const WRITES: [&str; 9] = ["tee", "cp", "mv", "rm", "mkdir", "touch", "patch", "ln", "rmdir"];
/// Commands that decide nothing: where they stand alone, the step is of no other kind.
const NEUTRAL: [&str; 24] = [
    "cd", "pwd", "echo", "printf", "true", "false", "test", "[", "set", "export", "exit", "sort",
    "uniq", "cut", "tr", "which", "command", "type", "then", "fi", "do", "done", "else", "sleep",
];
/// Words in front of a command.
const PREFIXES: [&str; 8] = ["time", "nohup", "env", "exec", "if", "while", "until", "!"];

/// Returns the kind of step that a script is: `Execute` if it runs a program other than the usual ones of a shell,
/// `Other` if it writes files, else `Search` or `View`.
///
/// ```text
/// cat a.py | head -5; grep -n x b.py        search
/// cat > tests/concise.py <<'E' ... E        other
/// cd tests && python -m pytest -q           execute
/// ```
pub fn group_of_script(script: &str) -> Group {
    let kinds: Vec<Group> =
        simple_commands(script).iter().filter_map(|words| kind(words)).collect();
    let has = |group: Group| kinds.contains(&group);
    let order = [Group::Execute, Group::Other, Group::Search, Group::View];
    order.into_iter().find(|group| has(*group)).unwrap_or(Group::Other)
}

/// The kind of a simple command; nothing of one that decides nothing.
fn kind(words: &[String]) -> Option<Group> {
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        })
    };
    let is_file = |target: &str| !target.starts_with('&') && target != "/dev/null";
    let writes = words.iter().any(|word| word.strip_prefix('>').is_some_and(is_file));
    let mut words = words.iter().map(String::as_str).filter(|word| !word.starts_with(['>', '<']));
    let name = words.find(|word| !is_assignment(word) && !PREFIXES.contains(word))?;
    let name = name.rsplit('/').next().unwrap_or(name);
    let rest: Vec<&str> = words.collect();
    let in_place = || rest.iter().any(|word| word.starts_with("-i") || *word == "--in-place");
    match name {
        "git" if rest.first() == Some(&"grep") => Some(Group::Search),
        "git" => Some(Group::View),
        "sed" if in_place() => Some(Group::Other),
        "find" if rest.iter().any(|word| word.starts_with("-exec")) => Some(Group::Execute),
        "xargs" | "timeout" => {
            let named =
                rest.iter().find(|word| !word.starts_with('-') && word.parse::<f64>().is_err());
            kind(&[named.map(|word| (*word).to_owned())?])
        }
        name if WRITES.contains(&name) => Some(Group::Other),
        _ if writes && (VIEWS.contains(&name) || NEUTRAL.contains(&name)) => Some(Group::Other),
        name if SEARCHES.contains(&name) => Some(Group::Search),
        name if VIEWS.contains(&name) => Some(Group::View),
        name if NEUTRAL.contains(&name) => None,
        _ => Some(Group::Execute),
    }
}

/// The words of each simple command. A redirection is a word that begins with `>` or `<`; its target is left out.
fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    // The ends of texts that follow on the next lines.
    let mut waiting: Vec<String> = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        let mut quote = None;
        let mut at = 0;
        loop {
            let letters: Vec<char> = line.chars().collect();
            while let Some(&letter) = letters.get(at) {
                let next = letters.get(at + 1).copied();
                match (quote, letter) {
                    (Some(open), letter) if letter == open => quote = None,
                    (Some('"') | None, '\\') => {
                        word.extend(next);
                        at += 1;
                    }
                    (Some(_), letter) => word.push(letter),
                    (None, '\'' | '"') => quote = Some(letter),
                    (None, '#') if word.is_empty() => break,
                    (None, ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`')
                        if !(letter == '&' && word.starts_with('>')) =>
                    {
                        end_word(&mut word, &mut words);
                        end_command(&mut words, &mut commands);
                    }
                    (None, '<') if next == Some('<') && letters.get(at + 2) != Some(&'<') => {
                        let rest: String = letters[at + 2..].iter().collect();
                        let rest = rest.trim_start_matches('-').trim_start();
                        let end = rest.split([' ', ';', '|', '&', '>', '<']).next().unwrap_or("");
                        waiting.push(end.replace(['\'', '"', '\\'], ""));
                        at += 1;
                    }
                    (None, '>' | '<') => {
                        // A number in front of it is that of a stream.
                        if word.parse::<u32>().is_err() {
                            end_word(&mut word, &mut words);
                        }
                        word = letter.to_string();
                        while letters.get(at + 1).is_some_and(|next| *next == ' ' || *next == '>') {
                            at += 1;
                        }
                    }
                    (None, letter) if letter.is_whitespace() => end_word(&mut word, &mut words),
                    (None, letter) => word.push(letter),
                }
                at += 1;
            }
            // A quotation goes on in the next line.
            match quote.is_some().then(|| lines.next()).flatten() {
                Some(more) => {
                    word.push('\n');
                    (line, at) = (more.to_owned(), 0);
                }
                None => break,
            }
        }
        end_word(&mut word, &mut words);
        if line.ends_with('\\') {
            continue;
        }
        end_command(&mut words, &mut commands);
        for end in waiting.drain(..) {
            lines.by_ref().find(|line| line.trim_start_matches('\t') == end);
        }
    }
    end_command(&mut words, &mut commands);
    commands
}

fn end_word(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

fn end_command(words: &mut Vec<String>, commands: &mut Vec<Vec<String>>) {
    if !words.is_empty() {
        commands.push(std::mem::take(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_count_by_what_they_do() {
        for (script, expected) in [
            ("cat a.py", Group::View),
            ("cd src && sed -n '1,40p' a.py | head -5", Group::View),
            ("ls -la 2>/dev/null; git log --oneline", Group::View),
            ("grep -rn 'def f' . | sort | head", Group::Search),
            ("cat a.py; find . -name '*.py'", Group::Search),
            ("find . -name '*.py' | xargs grep -l x", Group::Search),
            (
                "cat > tests/concise.py <<'E'\nimport os; python()\nE\ncat tests/concise.py",
                Group::Other,
            ),
            ("cat <<E >> a.py\npytest\nE", Group::Other),
            ("sed -i 's/a/b/' a.py", Group::Other),
            ("echo 'python -m pytest' > notes", Group::Other),
            ("mkdir -p a && cp b a/", Group::Other),
            ("A=1 timeout 60 python -m pytest -q 2>&1 | tail -5", Group::Execute),
            ("cd tests && ./run.sh", Group::Execute),
            ("/usr/bin/python3 -c \"\nprint(1)\n\"", Group::Execute),
            ("echo done", Group::Other),
            ("grep -n 'x;y|z' a.py # python", Group::Search),
            ("", Group::Other),
        ] {
            assert_eq!(group_of_script(script), expected, "{script}");
        }
    }
}
