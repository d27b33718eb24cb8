//! The published raw tables (RepoMaster, appendix G, tables 6 to 10) recomputed, row by row, and their shares in
//! table 1.
//!
//! Three misprints of the paper are known to these tests:
//! - table 9, aerial-cactus-identification: 0.99951 is above the median of 0.99910, and the row says that it is not;
//!   table 1 counts it (9.09% are two of 22);
//! - table 1, RepoMaster with GPT-4o: 36.36% above the median, where table 6 has nine rows of 22, which is 40.91%;
//! - tables 9 and 10 name text-normalization-challenge-english-language, with the thresholds of the russian one that
//!   tables 6 to 8 name.

use std::collections::BTreeMap;

use super::{
    BetterScore, Competition, CompetitionRow, Competitions, Grade, Medal, medal_shares,
    medal_tables, read_competition_rows,
};

const MLE_R: &str = include_str!("../../../configs/competitions/mle-r.toml");
/// Table, competition, score, and the columns of the paper: any medal, gold, silver, bronze, above median, valid.
const RAW: &str = include_str!("raw_tables.tsv");
const ENGLISH: &str = "text-normalization-challenge-english-language";
const RUSSIAN: &str = "text-normalization-challenge-russian-language";

fn competitions() -> Competitions {
    Competitions::parse("mle-r.toml", MLE_R).unwrap()
}

/// The rows of the tables, each with what the paper prints for it.
fn published() -> Vec<(CompetitionRow, [bool; 6])> {
    let rows = RAW.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let name = if cells[1] == ENGLISH { RUSSIAN } else { cells[1] };
        let flags: Vec<bool> = cells[3..].iter().map(|cell| *cell == "1").collect();
        let row = CompetitionRow {
            competition: name.to_owned(),
            score: cells[2].parse().ok(),
            valid: cells[2] != "-",
            made: None,
            tokens: None,
            solver: format!("table {}", cells[0]),
        };
        (row, flags.try_into().unwrap())
    });
    rows.collect()
}

fn flags(grade: Grade) -> [bool; 6] {
    let is = |medal| grade.medal == Some(medal);
    let medals = [Medal::Gold, Medal::Silver, Medal::Bronze].map(is);
    [grade.medal.is_some(), medals[0], medals[1], medals[2], grade.above_median, grade.valid]
}

#[test]
fn published_rows_have_their_published_grades() {
    let competitions = competitions();
    assert_eq!(competitions.all.len(), 22);
    let rows = published();
    assert_eq!(rows.len(), 110);
    let mut misprints = Vec::new();
    for (row, printed) in &rows {
        let grade = competitions.find(&row.competition).unwrap().grade(row);
        if flags(grade) != *printed {
            misprints.push((row.solver.as_str(), row.competition.as_str()));
        }
    }
    assert_eq!(misprints, [("table 9", "aerial-cactus-identification")]);
}

#[test]
fn published_shares_follow_from_the_rows() {
    let rows: Vec<CompetitionRow> = published().into_iter().map(|(row, _)| row).collect();
    let shares = medal_shares(&competitions(), &rows);
    // Table 1 from "valid" on: the raw tables do not tell which invalid submissions were made. The misprint of
    // GPT-4o is the third figure of table 6, which is 36.36 there.
    let expected = BTreeMap::from([
        ("table 6", [86.36, 40.91, 4.55, 0.0, 13.64, 18.18]),
        ("table 7", [95.45, 45.45, 4.55, 0.0, 22.73, 27.27]),
        ("table 8", [86.36, 36.36, 4.55, 4.55, 13.64, 22.73]),
        ("table 9", [45.45, 9.09, 0.0, 0.0, 4.55, 4.55]),
        ("table 10", [50.0, 13.64, 0.0, 0.0, 4.55, 4.55]),
    ]);
    let rounded = |share: f64| (share * 100.0).round() / 100.0;
    let found: BTreeMap<&str, [f64; 6]> = shares
        .iter()
        .map(|(solver, one)| {
            let shares =
                [one.valid, one.above_median, one.bronze, one.silver, one.gold, one.any_medal];
            (solver.as_str(), shares.map(rounded))
        })
        .collect();
    assert_eq!(found, expected);
    // The headline: 110% more valid submissions than OpenHands, both with Claude 3.5.
    let gain = shares["table 7"].valid / shares["table 9"].valid - 1.0;
    assert_eq!(format!("{:.0}", gain * 100.0), "110");
}

#[test]
fn thresholds_count_in_their_direction() {
    let grade = |better, score: f64| {
        let sign = if better == BetterScore::Higher { 1.0 } else { -1.0 };
        let [gold, silver, bronze, median] = [9.0, 7.0, 5.0, 3.0].map(|step: f64| step * sign);
        let one = Competition { name: "c".to_owned(), better, gold, silver, bronze, median };
        let row = CompetitionRow {
            competition: "c".to_owned(),
            score: Some(score * sign),
            valid: true,
            made: None,
            tokens: None,
            solver: String::new(),
        };
        one.grade(&row)
    };
    for better in [BetterScore::Higher, BetterScore::Lower] {
        for (score, medal, above) in [
            (9.5, Some(Medal::Gold), true),
            (9.0, Some(Medal::Gold), true),
            (8.9, Some(Medal::Silver), true),
            (5.0, Some(Medal::Bronze), true),
            (4.9, None, true),
            (3.0, None, false),
            (-9.0, None, false),
        ] {
            let grade = grade(better, score);
            assert_eq!((grade.medal, grade.above_median), (medal, above), "{better:?} {score}");
        }
    }
}

#[test]
fn tokens_have_a_column_where_they_are_known() {
    let competitions = competitions();
    let name = &competitions.all[0].name;
    let other = &competitions.all[1].name;
    let line = |name: &str, solver: &str, more: &str| {
        format!(
            "{{\"competition\": \"{name}\", \"valid\": false, \"solver\": \"{solver}\"{more}}}\n"
        )
    };
    let check = |text: String, expected: &[&str]| {
        let (rows, malformed) = read_competition_rows(&text, &competitions);
        assert!(malformed.is_empty(), "{malformed:?}");
        let shares = &medal_tables(&competitions, &rows)[0];
        let last = shares.rows.iter().map(|row| row.last().unwrap().as_str());
        assert_eq!(last.collect::<Vec<_>>(), expected);
        assert_eq!(shares.heads.len(), shares.rows[0].len());
    };
    check(line(name, "a", ""), &["0.00"]);
    let known = line(name, "a", ", \"tokens\": 10") + &line(other, "a", ", \"tokens\": 20");
    check(known + &line(name, "b", ""), &["15", "-"]);
}

#[test]
fn rows_and_sets_that_are_wrong_are_named() {
    let competitions = competitions();
    let check = |text: &str, expected: &str| {
        let (_, malformed) = read_competition_rows(text, &competitions);
        assert_eq!(format!("line {}: {}", malformed[0].line, malformed[0].reason), expected);
    };
    let good = r#"{"competition": "leaf-classification", "score": 0.1, "valid": true}"#;
    check(
        &format!("{good}\n\n{good}"),
        "line 3: leaf-classification is there twice for solver \"\"",
    );
    check(r#"{"competition": "x", "valid": false}"#, "line 1: mle-r has no competition \"x\"");
    check(&good.replace("0.1", "null"), "line 1: a valid submission has a score");
    check(&good.replace("true", "false"), "line 1: an invalid submission has no score");
    let set = |from: &str, to: &str| {
        Competitions::parse("x.toml", &MLE_R.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let order = "gold, silver, bronze and median are not in the order of `better`";
    assert_eq!(
        set("\"higher\"", "\"lower\""),
        format!("read competitions x.toml: competition aerial-cactus-identification: {order}")
    );
    assert_eq!(set("version = 1", "version = 2"), "read competitions x.toml: version 2, not 1");
}

#[test]
fn made_submissions_need_not_be_valid() {
    let competitions = competitions();
    let text = r#"{"competition": "leaf-classification", "valid": false, "made": true, "solver": "a"}
        {"competition": "mlsp-2013-birds", "score": 0.9, "valid": true, "solver": "a"}"#;
    let (rows, _) = read_competition_rows(text, &competitions);
    let [shares, single] = &medal_tables(&competitions, &rows)[..] else { panic!("two tables") };
    assert_eq!(shares.rows, [["a", "9.09", "4.55", "4.55", "4.55", "0.00", "0.00", "4.55"]]);
    assert_eq!(single.rows[0], ["a", "leaf-classification", "-", "yes", "no", "no", "-"]);
    assert_eq!(single.rows[1], ["a", "mlsp-2013-birds", "bronze", "yes", "yes", "yes", "0.9"]);
}
