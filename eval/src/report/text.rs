//! Aligned columns, for a terminal.

use super::{Align, Table};

/// Writes tables.
pub fn write(tables: &[Table]) -> String {
    let mut out = String::new();
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            out.push_str(&format!("\n{}\n", table.title));
        }
        write_table(table, &mut out);
    }
    out
}

fn write_table(table: &Table, out: &mut String) {
    let heads = table.names();
    let width = |column: usize| {
        let cells = table.rows.iter().chain([&heads]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    for row in std::iter::once(&heads).chain(&table.rows) {
        let mut line = String::new();
        for ((cell, &width), (_, align)) in row.iter().zip(&widths).zip(&table.heads) {
            match align {
                Align::Words => line.push_str(&format!("{cell:<width$}  ")),
                Align::Figures => line.push_str(&format!("{cell:>width$}  ")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
