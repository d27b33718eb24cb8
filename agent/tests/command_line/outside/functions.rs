//! Functions of real packages as completion problems: the paper's example with its three listings, and dependency sets
//! beside lists that a person made by reading the code.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{User, packages::wanted, read};

/// The problems of packages with all their functions, or `None` with a printed reason.
fn problems(packages: &[&str]) -> Option<Vec<Value>> {
    if !wanted() {
        eprintln!("skipped: GISTIFY_TEST_OUTSIDE is not set");
        return None;
    }
    let user = User::new();
    let args = [&["-q", "repoexec", "build", "-o", "built", "--all", "--tests", "none"], packages];
    let ran = user.gistify(&args.concat());
    if ran.code == 4 {
        eprintln!("skipped: {}", ran.last_error_line());
        return None;
    }
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = read(&user.here().join("built/problems.jsonl"));
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Functions, and the names that they use of their repository, as a person reads them (22 functions of 7 packages).
const READ: &[(&str, &str)] = &[
    ("webcolors/_conversion.py::name_to_hex", "CSS3 _get_name_to_hex_map"),
    ("webcolors/_conversion.py::name_to_rgb", "CSS3 hex_to_rgb name_to_hex"),
    ("webcolors/_conversion.py::name_to_rgb_percent", "CSS3 name_to_rgb rgb_to_rgb_percent"),
    ("webcolors/_conversion.py::hex_to_rgb", "IntegerRGB normalize_hex"),
    (
        "webcolors/_conversion.py::rgb_percent_to_rgb",
        "IntegerRGB _percent_to_integer normalize_percent_triplet",
    ),
    ("inflection/__init__.py::pluralize", "PLURALS UNCOUNTABLES"),
    ("inflection/__init__.py::titleize", "humanize underscore"),
    ("inflection/__init__.py::parameterize", "transliterate"),
    ("inflection/__init__.py::tableize", "pluralize underscore"),
    ("toolz/itertoolz.py::merge_sorted", "_merge_sorted_binary _merge_sorted_binary_key"),
    ("toolz/itertoolz.py::pluck", "_get getter no_default"),
    ("toolz/itertoolz.py::topk", "getter"),
    ("toolz/dicttoolz.py::merge_with", "_get_factory"),
    ("natsort/natsort.py::as_ascii", "do_decoding"),
    ("natsort/natsort.py::index_natsorted", "natsort_keygen ns"),
    (
        "natsort/natsort.py::natsort_keygen",
        "NS_DUMB dumb_sort final_data_transform_factory input_string_transform_factory natsort_key ns null_string \
         null_string_locale null_string_locale_max null_string_max parse_bytes_factory parse_number_or_none_factory \
         parse_path_factory parse_string_factory regex_chooser string_component_transform_factory",
    ),
    ("natsort/natsort.py::numeric_regex_chooser", "regex_chooser"),
    ("funcy/colls.py::walk_values", "_factory iteritems make_func xmap"),
    ("funcy/colls.py::where", "all"),
    ("packaging/utils.py::canonicalize_version", "InvalidVersion Version _TrimmedRelease"),
    (
        "packaging/utils.py::parse_sdist_filename",
        "InvalidSdistFilename InvalidVersion Version canonicalize_name",
    ),
    ("humanize/filesize.py::naturalsize", "_ suffixes"),
];

#[test]
fn dependency_sets_are_what_a_person_reads() {
    let packages = [
        "pypi:webcolors==25.10.0",
        "pypi:inflection==0.5.1",
        "pypi:toolz==1.2.0",
        "pypi:natsort==8.4.0",
        "pypi:funcy==2.1",
        "pypi:packaging==26.3",
        "pypi:humanize==4.17.0",
    ];
    let Some(problems) = problems(&packages) else { return };
    let mut sets: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &problems {
        let function = &row["function"];
        let path = function["path"].as_str().unwrap().trim_start_matches("src/");
        let names = function["dependencies"].as_array().unwrap().iter();
        let names = names.map(|one| one["written"].as_str().unwrap().to_owned()).collect();
        sets.insert(format!("{path}::{}", function["name"].as_str().unwrap()), names);
    }
    for (function, names) in READ {
        let read: BTreeSet<String> = names.split_whitespace().map(str::to_owned).collect();
        assert_eq!(sets.get(*function), Some(&read), "{function}");
    }
}

/// The listings of appendix E (examples of full, medium and small context) as the paper's text has them, with their
/// indentation. That text has lost all empty lines, and all but one of the lines with quotes around docstrings.
const LISTINGS: &str = include_str!("listings.txt");

/// The lines at which the paper's text is damaged besides: the size, the line as it is there, and what stood there.
const DAMAGED: &[(&str, &str, &str)] = &[
    // Lines that lost their indentation, or have one space too many.
    (
        "full",
        "msg = 'Expected \"str\", received \"{}\"'.format(type_name)",
        "        msg = 'Expected \"str\", received \"{}\"'.format(type_name)",
    ),
    ("full", "super().__init__(msg)", "        super().__init__(msg)"),
    (
        "full",
        ">>> is_camel_case('mystring') # returns false",
        "    >>> is_camel_case('mystring') # returns false",
    ),
    (
        "full",
        ":return: True for a camel case string, false otherwise.",
        "    :return: True for a camel case string, false otherwise.",
    ),
    (
        "full",
        ":param separator: Sign to use as separator.",
        "    :param separator: Sign to use as separator.",
    ),
    (
        "medium",
        "         :param input_data: Any received object",
        "        :param input_data: Any received object",
    ),
    (
        "medium",
        ">>> is_string(b'foo') # returns false",
        "    >>> is_string(b'foo') # returns false",
    ),
    (
        "medium",
        ">>> is_camel_case('mystring') # returns false",
        "    >>> is_camel_case('mystring') # returns false",
    ),
    ("medium", ":return: Converted string.", "    :return: Converted string."),
    (
        "small",
        ":param separator: Sign to use as separator.",
        "    :param separator: Sign to use as separator.",
    ),
    // A dash that is gone.
    (
        "full",
        "      it contains both lowercase and uppercase letters",
        "    - it contains both lowercase and uppercase letters",
    ),
    // What was set as TeX.
    (
        "full",
        "    : \\verb\"param input_string\": String to test\".",
        "    :param input_string: String to test.",
    ),
    (
        "medium",
        "\\label{eq:camel_case_replace_re} \\begin{split} \\mathsf{CAMEL\\_CASE\\_REPLACE\\_RE} \\ = \\ \
         \\mathsf{re.compile} \\big( \\mathsf{r'([a-z]|[A-Z]+)} \\, (?=[A-Z]) \\, ' \\big) \\end{split}",
        "CAMEL_CASE_REPLACE_RE = re.compile(r'([a-z]|[A-Z]+)(?=[A-Z])')",
    ),
    ("medium", "    : {\\tt type \\ input\\_string: \\ str}", "    :type input_string: str"),
    (
        "medium",
        "    :param separator: Sign to use as separator.  \\\\",
        "    :param separator: Sign to use as separator.",
    ),
    // Ends of lines, and lines, that are gone.
    (
        "medium",
        "    - it's composed only by letters ([a-zA-Z]) and optionally numbers ([0-9]) - it contains both lowercase \
         and uppercase letters",
        "    - it's composed only by letters ([a-zA-Z]) and optionally numbers ([0-9])\n    - it contains both \
         lowercase and uppercase letters",
    ),
    (
        "small",
        "    Convert a camel case string into a snake case one. (The original string is returned if is not a valid \
         camel case string)",
        "    Convert a camel case string into a snake case one.\n    (The original string is returned if is not a \
         valid camel case string)\n    *Example:*",
    ),
    (
        "full",
        "    (The original string is returned if is not a valid camel case string)",
        "    (The original string is returned if is not a valid camel case string)\n    *Example:*",
    ),
];

#[test]
fn the_listings_of_the_paper_are_rebuilt() {
    let Some(problems) = problems(&["pypi:python-string-utils==1.0.0"]) else { return };
    let row = problems.iter().find(|row| row["function"]["name"] == "camel_case_to_snake").unwrap();
    let function = &row["function"];
    let is_kept = |line: &&str| !matches!(line.trim(), "" | "\"\"\"");
    for part in LISTINGS.split("#- ").skip(1) {
        let (size, printed) = part.split_once('\n').unwrap();
        let mut damaged: Vec<_> = DAMAGED.iter().filter(|(of, ..)| *of == size).collect();
        let mut lines = Vec::new();
        for line in printed.lines().filter(is_kept) {
            let known = damaged.iter().position(|(_, there, _)| *there == line);
            lines.extend(known.map_or(line, |at| damaged.remove(at).2).lines());
        }
        assert!(damaged.is_empty(), "{damaged:?}");
        let context = function["context"][size].as_str().unwrap();
        let built = format!("{context}\n\n{}", function["prompt"].as_str().unwrap());
        assert_eq!(built.lines().filter(is_kept).collect::<Vec<_>>(), lines, "{size}");
    }
}
