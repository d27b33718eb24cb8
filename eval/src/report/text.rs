//! Aligned columns, for a terminal.

use super::{Summary, Table, titled};

/// Writes a summary.
pub fn write(summary: &Summary) -> String {
    let mut out = String::new();
    for (title, table) in titled(summary) {
        if !title.is_empty() {
            out.push('\n');
            out.push_str(title);
            out.push('\n');
        }
        write_table(&table, &mut out);
    }
    out
}

fn write_table(table: &Table, out: &mut String) {
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| row[column].chars().count());
        cells.chain([table.heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.heads.len()).map(width).collect();
    let heads: Vec<String> = table.heads.iter().map(|head| (*head).to_owned()).collect();
    for row in std::iter::once(&heads).chain(&table.rows) {
        let mut line = String::new();
        for ((cell, &width), head) in row.iter().zip(&widths).zip(&table.heads) {
            // Words to the left, figures to the right.
            let words = matches!(*head, "suite" | "task" | "cause" | "evidence" | "what")
                || head.starts_with("seen");
            if words {
                line.push_str(&format!("{cell:<width$}  "));
            } else {
                line.push_str(&format!("{cell:>width$}  "));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
