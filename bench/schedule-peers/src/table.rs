//! Renders a Markdown table whose columns are aligned.

pub(crate) struct ReportTable {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl ReportTable {
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.header.len()).map(|column| self.width(column)).collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                // The first column is aligned left, figures are aligned right.
                if column == 0 {
                    format!(" {cell:<width$} |")
                } else {
                    format!(" {cell:>width$} |")
                }
            });
            format!("|{}\n", cells.collect::<String>())
        };
        let rule = widths.iter().enumerate().map(|(column, width)| {
            let dashes = "-".repeat(width + 1);
            if column == 0 { format!("{dashes}-|") } else { format!("{dashes}:|") }
        });
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let rule: String = rule.collect();
        format!("**{}**\n\n{}|{rule}\n{rows}", self.title, line(&self.header))
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().chain([&self.header]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_header_rule_and_aligned_columns() {
        let strings = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let table = ReportTable {
            title: "next".into(),
            header: strings(["schedule", "ours"]),
            rows: vec![strings(["0 3 * * 0", "20/150"]), strings(["daily", "-"])],
        };
        let text = "**next**\n\n\
            | schedule  |   ours |\n\
            |-----------|-------:|\n\
            | 0 3 * * 0 | 20/150 |\n\
            | daily     |      - |\n";
        assert_eq!(table.render(), text);
    }
}
