//! Components with something added at their end: a module that is instantiated with them.

use anyhow::{Context, ensure};

/// The sections of a component that hold a module, and instances of modules.
const MODULE: u8 = 1;
const INSTANCES: u8 = 2;

/// The length of what a component begins with.
const PREAMBLE: usize = 8;

/// A component with one more module, in the text format, which each instance of the component instantiates, too.
///
/// # Errors
/// When the component is malformed, or the module is.
pub fn with_module(component: &[u8], module: &str) -> anyhow::Result<Vec<u8>> {
    let module = wat::parse_str(module)?;
    let index = u32::try_from(modules(component)?)?;
    let mut instance = vec![1, 0];
    leb(index, &mut instance);
    instance.push(0);
    let mut whole = component.to_vec();
    for (section, content) in [(MODULE, module), (INSTANCES, instance)] {
        whole.push(section);
        leb(u32::try_from(content.len())?, &mut whole);
        whole.extend_from_slice(&content);
    }
    Ok(whole)
}

/// The number of modules of a component.
fn modules(component: &[u8]) -> anyhow::Result<usize> {
    ensure!(component.starts_with(b"\0asm\x0d\0\x01\0"), "not a component");
    let mut rest = component.get(PREAMBLE..).unwrap_or_default();
    let mut modules = 0;
    while let Some((section, after)) = rest.split_first() {
        modules += usize::from(*section == MODULE);
        let (size, after) = read_leb(after).context("a section without a size")?;
        rest = after.get(size..).context("a section that is cut off")?;
    }
    Ok(modules)
}

fn leb(mut number: u32, out: &mut Vec<u8>) {
    loop {
        let byte = number.to_le_bytes()[0] & 0x7f;
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

fn read_leb(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(index + 1..)?));
        }
    }
    None
}
