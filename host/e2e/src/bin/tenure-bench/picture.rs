//! Draws the time of an ADD: one bar for each program, all to the same scale.

use std::fmt::Write;

use crate::parts::Parts;

const WIDTH: f64 = 760.0;
/// The left end of the bars, to the right of their names.
const LEFT: f64 = 96.0;
const BAR: f64 = 26.0;
const GAP: f64 = 14.0;

/// A colour for each part, distinguishable by brightness too.
const COLOURS: [&str; 5] = ["#1b4965", "#5fa8d3", "#bc6c25", "#8d99ae", "#cae9ff"];
const PEER: &str = "#b8b8b8";

/// The picture as SVG.
pub(crate) fn draw(parts: &Parts) -> String {
    let scale = (WIDTH - LEFT - 80.0) / parts.host_local.max(parts.sum()).max(1.0);
    let height = 4.0 * (BAR + GAP) + GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\" role=\"img\" aria-label=\"Where the time of an ADD goes\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let ours =
        parts.named().into_iter().zip(COLOURS).map(|((_, microseconds), colour)| (microseconds, colour));
    bar(&mut svg, 0, "/bin/true", scale, [(parts.bin_true, PEER)]);
    bar(&mut svg, 1, "tenure", scale, ours);
    bar(&mut svg, 2, "host-local", scale, [(parts.host_local, PEER)]);
    legend(&mut svg, parts);
    svg + "</svg>\n"
}

fn top(row: u8) -> f64 {
    GAP + f64::from(row) * (BAR + GAP)
}

fn bar<'a>(
    svg: &mut String,
    row: u8,
    name: &str,
    scale: f64,
    parts: impl IntoIterator<Item = (f64, &'a str)>,
) {
    let (y, text) = (top(row), top(row) + BAR * 0.68);
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{text:.1}\" text-anchor=\"end\">{name}</text>", LEFT - 10.0);
    let (mut x, mut sum) = (LEFT, 0.0);
    for (microseconds, colour) in parts {
        let width = microseconds.max(0.0) * scale;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
        );
        x += width;
        sum += microseconds;
    }
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{text:.1}\">{sum:.0} us</text>", x + 8.0);
}

fn legend(svg: &mut String, parts: &Parts) {
    let (y, mut x) = (top(3), LEFT);
    for ((name, microseconds), colour) in parts.named().into_iter().zip(COLOURS) {
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y:.1}\" width=\"14\" height=\"14\" fill=\"{colour}\"/>");
        let _ =
            writeln!(svg, "<text x=\"{}\" y=\"{:.1}\">{name} {microseconds:.0}</text>", x + 20.0, y + 12.0);
        x += 124.0;
    }
}
