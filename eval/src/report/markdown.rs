//! Markdown tables, for notes and pull requests.

use super::{Align, Table};

/// Writes tables.
pub fn write(tables: &[Table]) -> String {
    let mut out = String::new();
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if tables.len() > 1 {
            out.push_str(&format!("### {}\n\n", table.title));
        }
        write_row(&table.names(), &mut out);
        let rule = table.heads.iter().map(|(_, align)| match align {
            Align::Words => "| --- ",
            Align::Figures => "| --: ",
        });
        out.extend(rule);
        out.push_str("|\n");
        table.rows.iter().for_each(|row| write_row(row, &mut out));
    }
    out
}

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
