use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> String {
    let mut out = Vec::new();
    Analyzer::new().each(text, &mut |token| {
        let term = token.term.replace(STEM_MARK, "~").replace(WORD_MARK, "=");
        let beside = if token.kind == Kind::Whole { "+" } else { "" };
        out.push(format!("{}{beside}{term}", token.position));
    });
    out.join(" ")
}

/// Written by hand from the rules of the module and the table of `docs/spec/query.md`, section 22.
#[test]
fn terms() {
    for (text, expected) in [
        ("", ""),
        ("*** -> !?", ""),
        ("Running", "0running 0~run"),
        ("the files", "0the 1files 1~file"),
        ("read_file", "0read 1file"),
        ("kebab-case", "0kebab 1case"),
        ("camelCaseName", "0camel 0+camelcasename 1case 2name"),
        ("HTTPServer", "0http 0+httpserver 1server 1~server".replace(" 1~server", "").as_str()),
        ("sha256Hash", "0sha256 0+sha256hash 1hash"),
        ("E0382", "0e0382"),
        ("v1.2.3", "0v1 12 23"),
        ("src/main.rs", "0src 1main 2rs"),
        ("ERR_CONN_RESET", "0err 1conn 2reset"),
        ("0x7fFFe0Ab", "00x7fffe0ab"),
        ("foo_bar.baz/qux-1", "0foo 1bar 2baz 3qux 41"),
        ("std::fs", "0std 1fs"),
        ("don't", "0don 1t"),
        ("CAFÉ résumé", "0cafe 1resume 1~resum"),
        ("Straße", "0strasse 0~strass"),
        ("ﬁle ＡＢＣ", "0file 1abc"),
        ("Ångström", "0angstrom"),
        ("ΣΊΣΥΦΟΣ σίσυφος", "0σισυφοσ 1σισυφοσ"),
        ("Ёлка й", "0елка 1и"),
        ("İstanbul", "0istanbul"),
        ("请修复登录错误", "0请修 1修复 1=修复 2复登 3登录 3=登录 4录错 5错误 5=错误 6误"),
        ("修复login错误", "0修复 0=修复 1复 2login 3错误 3=错误 4误"),
        ("日本語テスト", "0日本 0=日本語 1本語 2語テ 3テス 3=テスト 4スト 5ト"),
        ("ﾃｽﾄ", "0テス 0=テスト 1スト 2ト"),
        ("ｶﾞ ガ", "0ガ 1ガ"),
        ("한국어를", "0한국 1국어 2어를 3를"),
        ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165}", "0한국 1국어 2어"),
        ("\u{30ab}\u{3099}", "0ガ"),
        ("สวัสดี", "0สว 1วั 2ัส 3สด 4ดี 5ี"),
        ("👍🏽 ok", "0👍 1ok"),
        ("👨‍👩‍👧", "0👨 1👩 2👧"),
        ("done✅fast", "0done 1✅ 2fast"),
        ("🟩⬛🆗🈚", "0🟩 1⬛ 2🆗 3🈚"),
        ("猫", "0猫"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

fn slots(needle: Option<Needle>) -> String {
    let Some(needle) = needle else { return "nothing".to_owned() };
    let shown = needle.slots.iter().map(|slot| match slot {
        Slot::Any(terms) => terms.join("|").replace(STEM_MARK, "~"),
        Slot::Prefix(prefix) => format!("{prefix}*"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn needles() {
    for (typed, word, phrase, prefix) in [
        ("run", "run|~run", "run", "run*"),
        ("running", "running|~run|run", "running", "running*"),
        ("登录", "登录", "登录", "登录"),
        ("登录错", "登录 录错", "登录 录错", "登录 录错"),
        ("错", "错*", "错*", "错*"),
        ("修复login错", "修复 复 login 错*", "修复 复 login 错*", "修复 复 login 错*"),
        ("修复login", "修复 复 login", "修复 复 login", "修复 复 login*"),
        ("read_file", "read file", "read file", "read file*"),
        ("camelCa", "camel ca", "camel ca", "camel ca*"),
        ("E0382", "e0382", "e0382", "e0382*"),
        ("***", "nothing", "nothing", "nothing"),
        ("👍", "👍", "👍", "👍*"),
    ] {
        assert_eq!(slots(Needle::word(typed)), word, "{typed}");
        assert_eq!(slots(Needle::phrase(typed)), phrase, "{typed}");
        assert_eq!(slots(Needle::prefix(typed)), prefix, "{typed}");
    }
}

#[test]
fn long_words_are_cut_alike() {
    let text = "deadbeef".repeat(100);
    let needle = Needle::phrase(&text).unwrap();
    assert_eq!(needle.slots, [Slot::Any(vec![text[..LONGEST].to_owned()])]);
    assert_eq!(shown(&text), format!("0{}", &text[..LONGEST]));
}

proptest! {
    #[test]
    fn places_are_in_order_and_inside(text in "\\PC{0,40}|[a-zA-Z_ 登录错误テスト한국👍🏽é]{0,40}") {
        let mut last = 0;
        Analyzer::new().each(&text, &mut |token| {
            assert!(token.position >= last && token.position <= last + 1);
            last = token.position;
            assert!(token.bytes.start < token.bytes.end);
            assert!(text.get(token.bytes.clone()).is_some(), "{token:?}");
            assert!(!token.term.is_empty());
        });
    }

    #[test]
    fn texts_that_nothing_joins_have_the_terms_of_both(
        a in "[a-zA-Z_ 登录错误テスト한국👍é]{0,20}",
        b in "[a-zA-Z_ 登录错误テスト한국👍é]{0,20}",
    ) {
        let terms = |text: &str| {
            let mut terms = Vec::new();
            Analyzer::new().each(text, &mut |token| terms.push(token.term.to_owned()));
            terms
        };
        let joined = format!("{a} \n {b}");
        prop_assert_eq!(terms(&joined), [terms(&a), terms(&b)].concat());
    }

    #[test]
    fn case_says_nothing(text in "[a-z 登录错误é]{0,30}") {
        let upper = text.to_uppercase();
        let lower = shown(&text);
        prop_assert_eq!(shown(&upper), lower);
    }
}
