//! Markdown tables, for notes and pull requests.

use super::{Summary, Table, titled};

/// Writes a summary.
pub fn write(summary: &Summary) -> String {
    let mut out = String::new();
    for (title, table) in titled(summary) {
        if !title.is_empty() {
            out.push_str(&format!("\n### {title}\n\n"));
        }
        write_table(&table, &mut out);
    }
    out
}

fn write_table(table: &Table, out: &mut String) {
    let heads: Vec<String> = table.heads.iter().map(|head| (*head).to_owned()).collect();
    write_row(&heads, out);
    write_row(&vec!["---".to_owned(); heads.len()], out);
    for row in &table.rows {
        write_row(row, out);
    }
}

/// Foreign text cannot leave its cell, nor become markup.
fn write_row(cells: &[String], out: &mut String) {
    for cell in cells {
        out.push_str("| ");
        for c in cell.chars() {
            match c {
                '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                c if c.is_control() => out.push(' '),
                c => out.push(c),
            }
        }
        out.push(' ');
    }
    out.push_str("|\n");
}
