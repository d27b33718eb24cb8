//! Charts as SVG: bars in groups and points with sizes. Text of others is only ever text in them.
//!
//! The same figures give the same bytes; nothing is loaded from elsewhere.

/// Colours that differ also for the colour-blind (Okabe and Ito 2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// Left, top, right and bottom margin.
const MARGIN: [f64; 4] = [60.0, 60.0, 20.0, 90.0];
/// Characters of a label.
const LABEL: usize = 28;

/// A group of bars: its label, and a value for each series.
pub type BarGroup = (String, Vec<Option<f64>>);

/// A point of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartPoint {
    /// Its place.
    pub x: f64,
    /// Its place.
    pub y: f64,
    /// The meaning of its area, relative to the others; 1 if all are alike.
    pub size: f64,
    /// Its series, by which it is coloured.
    pub series: String,
    /// The label.
    pub label: String,
}

/// Bars in groups, one bar of each group for each series.
pub fn bar_chart(title: &str, unit: &str, series: &[&str], groups: &[BarGroup]) -> String {
    let highest = groups.iter().flat_map(|(_, values)| values.iter().flatten()).copied();
    let frame = Frame::new((0.0, 1.0), (0.0, highest.fold(0.0, f64::max)));
    let mut svg = frame.open(title, "", unit);
    let room = frame.width() / groups.len().max(1) as f64;
    let bar = room * 0.8 / series.len().max(1) as f64;
    for (at, (label, values)) in groups.iter().enumerate() {
        let left = MARGIN[0] + room * (at as f64 + 0.1);
        for (number, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (x, y) = (left + bar * number as f64, frame.y(*value));
            svg += &format!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{bar:.1}\" height=\"{:.1}\" fill=\"{}\"><title>{}: {value:.2}</title></rect>\n",
                frame.y(0.0) - y,
                colour(number),
                escaped(label),
            );
        }
        let (x, y) = (left + room * 0.4, HEIGHT - MARGIN[3] + 14.0);
        svg += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" transform=\"rotate(-25 {x:.1} {y:.1})\">{}</text>\n",
            escaped(&short(label))
        );
    }
    svg + &legend(series) + "</svg>\n"
}

/// Points, coloured by their series.
pub fn point_chart(title: &str, axes: (&str, &str), points: &[ChartPoint]) -> String {
    let range = |value: fn(&ChartPoint) -> f64| {
        let values = || points.iter().map(value);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        if low > high { (0.0, 1.0) } else { (low.min(0.0), high) }
    };
    let frame = Frame::new(range(|point| point.x), range(|point| point.y));
    let mut svg = frame.open(title, axes.0, axes.1);
    let mut series: Vec<&str> = points.iter().map(|point| point.series.as_str()).collect();
    series.sort_unstable();
    series.dedup();
    let largest = points.iter().map(|point| point.size).fold(f64::MIN_POSITIVE, f64::max);
    for point in points {
        let number = series.iter().position(|one| *one == point.series).unwrap_or(0);
        let radius = 3.0 + 12.0 * (point.size.max(0.0) / largest).sqrt();
        svg += &format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{}\" fill-opacity=\"0.6\"><title>{}: {:.2}, {:.2}</title></circle>\n",
            frame.x(point.x),
            frame.y(point.y),
            colour(number),
            escaped(&point.label),
            point.x,
            point.y,
        );
    }
    svg + &legend(&series) + "</svg>\n"
}

struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn new(x: (f64, f64), y: (f64, f64)) -> Self {
        // An axis needs a length.
        let wide =
            |(low, high): (f64, f64)| if high > low { (low, high) } else { (low, low + 1.0) };
        Self { x: wide(x), y: wide((y.0, y.1 * 1.05)) }
    }

    fn width(&self) -> f64 {
        WIDTH - MARGIN[0] - MARGIN[2]
    }

    fn x(&self, value: f64) -> f64 {
        MARGIN[0] + self.width() * (value - self.x.0) / (self.x.1 - self.x.0)
    }

    fn y(&self, value: f64) -> f64 {
        let height = HEIGHT - MARGIN[1] - MARGIN[3];
        HEIGHT - MARGIN[3] - height * (value - self.y.0) / (self.y.1 - self.y.0)
    }

    /// The head of a chart: title, axes with their names and ticks.
    fn open(&self, title: &str, across: &str, up: &str) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n<text x=\"{}\" y=\"20\" font-size=\"14\">{}</text>\n",
            MARGIN[0],
            escaped(title)
        );
        let (left, bottom) = (MARGIN[0], HEIGHT - MARGIN[3]);
        let right = WIDTH - MARGIN[2];
        for step in 0..=4 {
            let value = self.y.0 + (self.y.1 - self.y.0) * f64::from(step) / 4.0;
            let y = self.y(value);
            svg += &format!(
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                left - 5.0,
                y + 4.0,
                tick(value)
            );
            if !across.is_empty() {
                let value = self.x.0 + (self.x.1 - self.x.0) * f64::from(step) / 4.0;
                svg += &format!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                    self.x(value),
                    bottom + 15.0,
                    tick(value)
                );
            }
        }
        svg += &format!(
            "<line x1=\"{left}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\" stroke=\"#333\"/>\n<text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n<text x=\"5\" y=\"{:.1}\">{}</text>\n",
            bottom + 32.0,
            escaped(across),
            MARGIN[1] - 8.0,
            escaped(up)
        );
        svg
    }
}

fn legend(series: &[&str]) -> String {
    let mut svg = String::new();
    let mut x = MARGIN[0];
    for (number, name) in series.iter().enumerate() {
        let name = short(name);
        svg += &format!(
            "<rect x=\"{x:.1}\" y=\"30\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{:.1}\" y=\"39\">{}</text>\n",
            colour(number),
            x + 14.0,
            escaped(&name)
        );
        x += 24.0 + 6.5 * name.chars().count() as f64;
    }
    svg
}

fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

fn tick(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn short(label: &str) -> String {
    match label.char_indices().nth(LABEL) {
        Some((at, _)) => format!("{}\u{2026}", &label[..at]),
        None => label.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_only_text() {
        let groups = [("<script>&".to_owned(), vec![Some(1.0), None])];
        let svg = bar_chart("a \"title\"", "%", &["<b>", "c"], &groups);
        assert!(!svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 1 + 1 + 2, "{svg}");
    }

    #[test]
    fn points_stand_within_the_frame() {
        let point = |x, y| ChartPoint { x, y, size: 1.0, series: "s".into(), label: "l".into() };
        let svg =
            point_chart("t", ("x", "y"), &[point(0.0, 0.0), point(10.0, 5.0), point(-3.0, 2.0)]);
        let places = svg.split("cx=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        for place in places {
            let x: f64 = place.parse().unwrap();
            assert!((MARGIN[0]..=WIDTH - MARGIN[2]).contains(&x), "{x}");
        }
        assert_eq!(point_chart("t", ("x", "y"), &[]).matches("<circle").count(), 0);
    }
}
