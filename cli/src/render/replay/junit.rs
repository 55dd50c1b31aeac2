//! Reports that servers for builds read: the `XML` of `JUnit`.

use std::io::{self, Write};

use super::{Layout, Status, Told, details};

/// Columns of what is said of a scenario.
const WIDTH: usize = 120;

/// Write what is told of all scenarios.
pub(crate) fn junit(told: &[Told], out: &mut dyn Write) -> io::Result<()> {
    let of = |status: &[Status]| told.iter().filter(|one| status.contains(&one.status)).count();
    let (failures, errors) = (of(&[Status::Differs]), of(&[Status::Failed, Status::TimedOut]));
    let millis = told.iter().map(|one| one.millis).sum();
    let head = format!(
        r#"tests="{}" failures="{failures}" errors="{errors}" time="{}""#,
        told.len(),
        seconds(millis)
    );
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="dshlog replay" {head}>"#)?;
    writeln!(out, r#"  <testsuite name="dshlog replay" {head}>"#)?;
    for one in told {
        case(one, out)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn case(one: &Told, out: &mut dyn Write) -> io::Result<()> {
    let (name, agent) = (escaped(&one.name), escaped(&one.agent));
    write!(out, r#"    <testcase name="{name}" classname="{agent}" time="{}""#, seconds(one.millis))?;
    let element = match one.status {
        Status::Ok => return writeln!(out, "/>"),
        Status::Differs => "failure",
        Status::Failed | Status::TimedOut => "error",
    };
    let mut text = Vec::new();
    details(one, &Layout { width: WIDTH, color: false, context: 3, full: false }, &mut text)?;
    let message = one.words().text();
    writeln!(out, ">")?;
    writeln!(
        out,
        r#"      <{element} type="{}" message="{}">{}</{element}>"#,
        one.status.name(),
        escaped(&message),
        escaped(&String::from_utf8_lossy(&text)),
    )?;
    writeln!(out, "    </testcase>")
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// A text as an attribute or content may hold it. What no document may hold is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report() {
        let mut bad = Told::new("a <b> & \"c\"".to_owned());
        bad.status = Status::Failed;
        bad.agent = "core".to_owned();
        bad.reason = Some("no\u{1b}thing".to_owned());
        bad.millis = 1_205;
        let mut out = Vec::new();
        junit(&[Told::new("fine".to_owned()), bad], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains(
                r#"<testsuite name="dshlog replay" tests="2" failures="0" errors="1" time="1.205">"#
            )
        );
        assert!(text.contains(r#"<testcase name="fine" classname="" time="0.000"/>"#));
        assert!(
            text.contains(
                r#"<testcase name="a &lt;b&gt; &amp; &quot;c&quot;" classname="core" time="1.205">"#
            )
        );
        assert!(text.contains(r#"<error type="failed" message="no"#) && !text.contains('\u{1b}'));
    }
}
