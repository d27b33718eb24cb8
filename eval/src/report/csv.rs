//! Comma-separated values (RFC 4180, with plain line ends), for spreadsheets: each table below a line with its name.

use super::Table;

/// Writes tables.
pub fn write(tables: &[Table]) -> String {
    let mut out = String::new();
    for table in tables {
        if tables.len() > 1 {
            if !out.is_empty() {
                out.push('\n');
            }
            row(&[table.name.to_owned()], &mut out);
        }
        row(&table.names(), &mut out);
        table.rows.iter().for_each(|cells| row(cells, &mut out));
    }
    out
}

fn row(cells: &[String], out: &mut String) {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        // A spreadsheet would run what begins like a formula; figures may be negative.
        let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
            && cell != "-"
            && cell.parse::<f64>().is_err();
        let cell = if formula { format!("'{cell}") } else { cell.clone() };
        if cell.contains([',', '"', '\n', '\r']) {
            out.push_str(&format!("\"{}\"", cell.replace('"', "\"\"")));
        } else {
            out.push_str(&cell);
        }
    }
    out.push('\n');
}
