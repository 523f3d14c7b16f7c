//! The platform that a program was linked for, by the header of its file (ELF, `e_ident` and `e_machine`).

use super::platform::Platform;

/// The beginning of a file of 64 bits in little-endian order.
const HEAD: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];

/// The platform of a program or a library; `None` of any other file.
pub(super) fn platform(content: &[u8]) -> Option<Platform> {
    let machine = content.strip_prefix(&HEAD)?.get(12..14)?;
    match u16::from_le_bytes(machine.try_into().ok()?) {
        62 => Some(Platform::Amd64),
        183 => Some(Platform::Arm64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_which_platform_it_is_for() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(platform(&own), Platform::native().ok());
        let mut other = own.get(..64).unwrap().to_vec();
        for (machine, expected) in [(62, Some(Platform::Amd64)), (183, Some(Platform::Arm64)), (3, None)] {
            other[18..20].copy_from_slice(&u16::to_le_bytes(machine));
            assert_eq!(platform(&other), expected);
        }
        assert_eq!((platform(b"#!/bin/sh\n"), platform(&[])), (None, None));
    }
}
