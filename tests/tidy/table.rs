//! Markdown tables, as much of them as our documents use.

/// The rows of the first table below the heading `heading`, each as its cells.
pub(crate) fn rows(document: &str, heading: &str) -> Vec<Vec<String>> {
    let below = document.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}")).1;
    let table = below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = table.skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "no table below {heading}");
    rows
}

/// The words of a cell that stand in backquotes.
pub(crate) fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn a_table_is_read() {
    let document = "# x\n\n## one\n\ntext\n\n| a | b |\n|---|---|\n| 1 | `p`, `q` |\n| 2 | |\n\n## two\n";
    let rows = rows(document, "one");
    assert_eq!(rows, [["1", "`p`, `q`"], ["2", ""]]);
    assert_eq!(names(&rows[0][1]), ["p", "q"]);
}
