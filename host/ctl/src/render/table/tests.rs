//! Tables as they are printed.

use super::super::cell::Cell;
use super::super::page::Page;
use super::super::view::View;
use super::Table;

fn page() -> Page {
    let rows = [("pods", "10.1.0.10/24", 61_000), ("pods", "10.1.0.9/24", 3_600_000), ("blue", "-", 5_000)];
    let rows: Vec<_> = (0..).zip(rows).collect();
    let table = Table::of(&rows)
        .column("NETWORK", |(at, row)| Cell::unless(*at == 1, row.0.to_owned()))
        .column("ADDRESSES", |(_, row)| row.1)
        .number("LAST HEARD", |(_, row)| Cell::age(row.2))
        .wide("LINES", |(at, _)| if *at == 0 { "one\ntwo" } else { "" });
    Page::default().text("before\n").section(table).paragraph("after\n".to_owned())
}

fn sorted(column: &str) -> Result<String, String> {
    page().print(&View { sort_by: Some(column.to_owned()), has_heads: false, is_wide: false })
}

#[test]
fn a_wide_table_has_more_columns_and_cells_may_have_lines() {
    insta::assert_snapshot!(page(), @"
    before

    NETWORK  ADDRESSES     LAST HEARD
    pods     10.1.0.10/24       1m 1s
             10.1.0.9/24           1h
    blue     -                     5s

    after
    ");
    insta::assert_snapshot!(page().print(&View { is_wide: true, ..View::default() }).unwrap(), @"
    before

    NETWORK  ADDRESSES     LAST HEARD  LINES
    pods     10.1.0.10/24       1m 1s  one
                                       two
             10.1.0.9/24           1h
    blue     -                     5s

    after
    ");
}

#[test]
fn sentences_are_folded_to_the_width_of_a_terminal_and_names_are_not() {
    let name = "a-name-that-somebody-may-want-to-copy-from-here-into-a-command-line";
    let why = "the runtime and the kernel disagree about the pod, so that its address stays where it is";
    let rows = [(name, why), ("web", "-")];
    let table = || Table::of(&rows).column("POD", |row| row.0).prose("REASON", |row| row.1);
    let page = Page::default().table(table());
    insta::assert_snapshot!(page, @"
    POD                                                                  REASON
    a-name-that-somebody-may-want-to-copy-from-here-into-a-command-line  the runtime and the kernel
                                                                         disagree about the pod, so that
                                                                         its address stays where it is
    web                                                                  -
    ");
    let wide = page.print(&View { is_wide: true, ..View::default() }).unwrap();
    assert_eq!(wide.lines().count(), 3);
}

#[test]
fn without_heads_there_is_nothing_but_whole_rows() {
    insta::assert_snapshot!(page().print(&View { has_heads: false, ..View::default() }).unwrap(), @"
    pods  10.1.0.10/24  1m 1s
    pods  10.1.0.9/24      1h
    blue  -                5s
    ");
}

#[test]
fn a_table_without_rows_has_its_columns_and_says_what_to_do() {
    let table = || Table::of(&[] as &[&str]).column("NAME", |name| *name);
    let page = Page::default().table_or(table(), "none yet\n").section(table());
    let print = |has_heads, column: &str| {
        page.print(&View { sort_by: Some(column.to_owned()), has_heads, is_wide: false })
    };
    assert_eq!(print(true, "name").as_deref(), Ok("none yet\n"));
    assert_eq!(print(false, "name").as_deref(), Ok(""));
    assert!(print(true, "owner").is_err());
}

#[test]
fn rows_are_sorted_by_what_a_cell_stands_for() {
    insta::assert_snapshot!(sorted("last-heard").unwrap(), @"
    blue  -                5s
    pods  10.1.0.10/24  1m 1s
    pods  10.1.0.9/24      1h
    ");
    insta::assert_snapshot!(sorted("Addresses").unwrap(), @"
    blue  -                5s
    pods  10.1.0.9/24      1h
    pods  10.1.0.10/24  1m 1s
    ");
    insta::assert_snapshot!(sorted("lines").unwrap(), @"
    pods  10.1.0.9/24      1h
    blue  -                5s
    pods  10.1.0.10/24  1m 1s
    ");
    insta::assert_snapshot!(sorted("owner").unwrap_err(), @r#"cannot sort by "owner"; columns: network, addresses, last-heard, lines"#);
    let text = Page::default().text("no table\n");
    let view = View { sort_by: Some("age".to_owned()), ..View::default() };
    insta::assert_snapshot!(text.print(&view).unwrap_err(), @r#"cannot sort by "age"; the output has no table"#);
}
