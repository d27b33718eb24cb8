//! LaTeX tables for the booktabs package, for papers.

use super::{Align, Table};

/// Writes tables.
pub fn write(tables: &[Table]) -> String {
    let mut out = String::new();
    for table in tables {
        let columns: String = table
            .heads
            .iter()
            .map(|(_, align)| if *align == Align::Words { 'l' } else { 'r' })
            .collect();
        out.push_str("\\begin{table}\n\\centering\n");
        out.push_str(&format!("\\caption{{{}}}\n", escaped(table.title)));
        out.push_str(&format!("\\label{{tab:{}}}\n", table.name));
        out.push_str(&format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n"));
        row(&table.names(), &mut out);
        out.push_str("\\midrule\n");
        table.rows.iter().for_each(|cells| row(cells, &mut out));
        out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n\n");
    }
    out
}

fn row(cells: &[String], out: &mut String) {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    out.push_str(&cells.join(" & "));
    out.push_str(" \\\\\n");
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
