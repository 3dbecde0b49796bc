//! Draws a growth curve as SVG, readable on light and dark backgrounds.

use std::fmt::Write;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 380.0;
/// Margins: left for the numbers, right for the names.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;
/// A palette that is distinguishable with colour blindness and visible on white and black.
const COLOURS: [&str; 7] = ["#4477aa", "#cc6677", "#228833", "#b58900", "#3a9fbf", "#aa3377", "#888888"];
/// The allowed ratio: a call may cost twice as much.
const AIM: f64 = 2.0;

pub(crate) struct Curve {
    pub(crate) name: &'static str,
    /// The number of tasks, and the ratio to the cost at the smallest size.
    pub(crate) points: Vec<(usize, f64)>,
}

pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) curves: Vec<Curve>,
}

impl Plot {
    /// The file name.
    pub(crate) fn file(&self) -> String {
        let plain = self.title.to_lowercase().replace(" of the ", "-").replace(" on ", "-").replace(' ', "-");
        format!("{plain}.svg")
    }

    pub(crate) fn svg(&self) -> String {
        let sizes: Vec<usize> = self.curves[0].points.iter().map(|(size, _)| *size).collect();
        let highest = self.curves.iter().flat_map(|curve| &curve.points).map(|(_, ratio)| *ratio).fold(AIM, f64::max);
        let top = (highest * 1.1 * 2.0).ceil() / 2.0;
        let log = |size: usize| (size as f64).log10();
        let (first, last) = (log(sizes[0]), log(sizes[sizes.len() - 1]));
        let x = |size: usize| LEFT + (log(size) - first) / (last - first) * (WIDTH - LEFT - RIGHT);
        let y = |ratio: f64| HEIGHT - BOTTOM - ratio / top * (HEIGHT - TOP - BOTTOM);
        let mut svg = head(&self.title);
        let (right, floor) = (WIDTH - RIGHT, y(0.0));
        for step in 0..=(top * 2.0) as usize {
            let ratio = step as f64 / 2.0;
            let at = y(ratio);
            _ = writeln!(svg, r#"<path class="grid" d="M{LEFT} {at:.1}H{right}"/>"#);
            _ = writeln!(svg, r#"<text class="end" x="{:.1}" y="{:.1}">{ratio:.1}</text>"#, LEFT - 8.0, at + 4.0);
        }
        _ = writeln!(svg, r#"<path class="aim" d="M{LEFT} {:.1}H{right}"/>"#, y(AIM));
        _ = writeln!(svg, r#"<text class="end" x="{:.1}" y="{:.1}">allowed</text>"#, right - 4.0, y(AIM) - 6.0);
        for size in &sizes {
            let at = x(*size);
            _ = writeln!(svg, r#"<path class="grid" d="M{at:.1} {TOP}V{:.1}"/>"#, floor + 5.0);
            _ = writeln!(svg, r#"<text class="mid" x="{at:.1}" y="{:.1}">{}</text>"#, floor + 20.0, thousands(*size));
        }
        let middle = f64::midpoint(LEFT, right);
        _ = writeln!(svg, r#"<text class="mid" x="{middle:.1}" y="{:.1}">tasks in the project</text>"#, HEIGHT - 14.0);
        let half = f64::midpoint(TOP, floor);
        _ = writeln!(
            svg,
            r#"<text class="mid" transform="translate(18 {half:.1}) rotate(-90)">median time, among 100 = 1</text>"#
        );
        self.draw(&mut svg, x, y);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw(&self, svg: &mut String, x: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) {
        for (n, (curve, colour)) in self.curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let at = |(size, ratio): &(usize, f64)| format!("{:.1},{:.1}", x(*size), y(*ratio));
            let points: Vec<String> = curve.points.iter().map(at).collect();
            _ = writeln!(svg, r#"<polyline stroke="{colour}" points="{}"/>"#, points.join(" "));
            for (size, ratio) in &curve.points {
                let (x, y) = (x(*size), y(*ratio));
                _ = writeln!(svg, r#"<circle fill="{colour}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#);
            }
            // The legend has a column of its own, because labels at the ends of overlapping curves would overlap too.
            let line = TOP + 10.0 + 22.0 * n as f64;
            let (from, to, text) = (WIDTH - RIGHT + 16.0, WIDTH - RIGHT + 34.0, WIDTH - RIGHT + 42.0);
            let ends = curve.points.last().map_or(1.0, |(_, ratio)| *ratio);
            _ = writeln!(svg, r#"<polyline stroke="{colour}" points="{from},{line} {to},{line}"/>"#);
            _ = writeln!(svg, r#"<text x="{text}" y="{}">{} {ends:.2}</text>"#, line + 4.0, curve.name);
        }
    }
}

fn head(title: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">
<title>{title}</title>
<style>
text {{ font: 12px system-ui, sans-serif; fill: #6e7781; }}
.title {{ font-size: 15px; font-weight: 600; }}
.end {{ text-anchor: end; }}
.mid {{ text-anchor: middle; }}
.grid {{ stroke: #8c959f; stroke-opacity: 0.3; fill: none; }}
.aim {{ stroke: #8c959f; stroke-dasharray: 6 4; fill: none; }}
polyline {{ fill: none; stroke-width: 2; }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #b1bac4; }} }}
</style>
<text class="title" x="{LEFT}" y="26">{title}</text>
"#
    )
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
