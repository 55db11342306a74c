//! Renders a table as plain text or as Markdown.

/// The format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Plain,
    Markdown,
}

pub(crate) struct ReportTable {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl ReportTable {
    pub(crate) fn render(&self, format: ReportFormat) -> String {
        match format {
            ReportFormat::Plain => self.plain(),
            ReportFormat::Markdown => self.markdown(),
        }
    }

    fn plain(&self) -> String {
        let widths: Vec<usize> = (0..self.header.len()).map(|column| self.width(column)).collect();
        let mut text = format!("{}\n", self.title);
        for row in self.lines() {
            let mut line = String::from(" ");
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // The first column is aligned left, figures are aligned right.
                line +=
                    &if at == 0 { format!(" {cell:<width$}") } else { format!("  {cell:>width$}") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|---|{}\n", "--:|".repeat(self.header.len().saturating_sub(1)));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("**{}**\n\n{}{rule}{rows}", self.title, line(&self.header))
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.lines().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.header).chain(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ReportTable {
        let strings = |cells: [&str; 2]| cells.map(String::from).to_vec();
        ReportTable {
            title: "next".into(),
            header: strings(["schedule", "ours"]),
            rows: vec![strings(["0 3 * * 0", "20/150"]), strings(["daily", "-"])],
        }
    }

    #[test]
    fn a_plain_table_has_aligned_columns() {
        let text = "next\n  schedule     ours\n  0 3 * * 0  20/150\n  daily           -\n";
        assert_eq!(table().render(ReportFormat::Plain), text);
    }

    #[test]
    fn a_markdown_table_has_a_header_rule() {
        let text =
            "**next**\n\n| schedule | ours |\n|---|--:|\n| 0 3 * * 0 | 20/150 |\n| daily | - |\n";
        assert_eq!(table().render(ReportFormat::Markdown), text);
    }
}
