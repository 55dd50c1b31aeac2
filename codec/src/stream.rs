//! stub
/// stub
pub fn check_stream(_: &crate::Event<'_>) -> crate::Result<()> {
    Ok(())
}
