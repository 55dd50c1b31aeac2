#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dshlog_tests::fuzz::frames(data));
