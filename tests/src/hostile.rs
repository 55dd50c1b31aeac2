//! A log in which every text that anybody but dsh wrote wants to act: on a terminal, in Markdown, in a browser.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::model::Corpora;

/// What stands in front of each such text, so that one can look for it.
pub const MARK: &str = "hostile-text";

/// The text, as JSON: HTML that runs scripts or fetches, Markdown that breaks out of its fence, escape sequences,
/// overrides of the direction, a lone surrogate, NUL.
const TEXT: &str = concat!(
    r#"hostile-text<script>console.error('ran')</script></script></style></title></template></textarea></pre></details>"#,
    r#"<img src=x onerror=console.error('ran')><svg onload=console.error('ran')><iframe src=javascript:alert(1)>"#,
    r#"\"'><b onmouseover=alert(1)>]]>--><!-- <base href=http://127.0.0.1:9/> &lt;script> {{7*7}} \u202e\u2066\u200b "#,
    r#"\u001b[31;5m\u001b]0;title\u0007\u001b[2J\u009b1m\u0000\r\b\u007f \ud83d ![i](http://127.0.0.1:9/i.png) "#,
    r#"[a](javascript:alert(1)) `</pre>` **</p>** ```` ~~~~\n# Turn 66\n\n```html\n<script>console.error('ran')</script>\n"#,
    r#"~~~\n</details>\n- ```\n<script>alert(1)</script>\n```\n<script>alert(2)</script>\n[r]: javascript:alert(1)\n\n    ```"#,
);

/// Texts of the case `v4-tools-parallel`, each with what is around it in its row.
const PLACES: [(&str, &str, &str); 12] = [
    (r#""text":""#, "Look around", "\""),
    (r#""title":""#, "Demo session", "\""),
    (r#""text":""#, "Three independent looks.", "\""),
    (r#""text":""#, "a.txt and b.txt are there.", "\""),
    (r"1: ", "a.txt", r"\n"),
    (r#""name":""#, "glob", "\""),
    (r#""code":""#, "SEARCH_FAILED", "\""),
    (r#""label":""#, "ls", "\""),
    (r#""kind":""#, "runtime-context", "\""),
    (r#""model":""#, "deepseek-flash", "\""),
    (r#"allId":""#, "call_1_2", "\""),
    (r#""id":""#, "call_1_2", "\""),
];

/// Write it into a home, as raw lines.
pub fn hostile(home: &Path) -> io::Result<PathBuf> {
    let entry = Corpora::own();
    let entry = entry.log("v4-tools-parallel");
    let plain = zstd::decode_all(File::open(&entry.log)?)?;
    let mut text = String::from_utf8(plain).map_err(io::Error::other)?;
    let mut put = |from: String, to: String| {
        if !text.contains(&from) {
            return Err(io::Error::other(format!("the base log has no {from}")));
        }
        text = text.replace(&from, &to);
        Ok(())
    };
    for (before, old, behind) in PLACES {
        put(format!("{before}{old}{behind}"), format!("{before}{TEXT}{behind}"))?;
    }
    // Arguments are JSON in a string.
    let twice = TEXT.replace('\\', r"\\").replace('"', r#"\""#);
    put(r#"\"*.txt\""#.to_owned(), format!(r#"\"{twice}\""#))?;
    let session = entry.log.parent().and_then(Path::file_name).ok_or(io::ErrorKind::NotFound)?;
    let folder = home.join("sessions/--tmp-ws-project--").join(session);
    fs::create_dir_all(&folder)?;
    let log = folder.join("session.v4.jsonl");
    fs::write(&log, text)?;
    Ok(log)
}
