//! The memory that a message takes once it is decoded, read off its bytes: two of them may become a claim of 152.

use tenure_types::{Error, ErrorCode, Result};

use crate::v1::ClaimSpec;

/// The methods whose requests have claims.
pub(super) const DECLARE: &str = "/tenure.v1.Claims/Declare";
const ENSURE: &str = "/tenure.v1.Claims/Ensure";

/// The most claims in a declaration: no agent may have more.
const MOST_CLAIMS: usize = 1000;

/// Numbers of the fields with claims, of a declaration and of a request for one, and of the lists of a claim.
const CLAIMS: u64 = 1;
const ADDRESSES: u64 = 4;
const FAMILIES: [u64; 2] = [3, 6];

/// A list grows by doubling.
const WHILE_IT_GROWS: usize = 2;

/// The fields of a message, up to the first that is malformed, where the decoder ends as well.
struct Fields<'a>(&'a [u8]);

/// Returns the most bytes that the lists of a message take when it is decoded.
///
/// # Errors
/// `ClaimInvalid` for more claims than any agent may have.
pub(super) fn size(path: &str, message: &[u8]) -> Result<usize> {
    if path != DECLARE && path != ENSURE {
        return Ok(0);
    }
    let (mut claims, mut bytes) = (0, 0_usize);
    for (_, claim) in Fields(message).filter(|(number, _)| *number == CLAIMS) {
        claims += 1;
        bytes += size_of::<ClaimSpec>() + Fields(claim).map(size_in_claim).sum::<usize>();
    }
    if claims > MOST_CLAIMS {
        let cause = format_args!("{claims} claims, and no agent may have more than {MOST_CLAIMS}");
        return Err(Error::new(ErrorCode::ClaimInvalid, cause));
    }
    Ok(bytes.saturating_mul(WHILE_IT_GROWS))
}

fn size_in_claim((number, content): (u64, &[u8])) -> usize {
    match number {
        ADDRESSES => size_of::<String>(),
        // A family may take one byte.
        _ if FAMILIES.contains(&number) => content.len() * size_of::<i32>(),
        _ => 0,
    }
}

/// The number of each field and its content. What a group has counts as if it were outside of it.
impl<'a> Iterator for Fields<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let content = match key & 7 {
            0 => {
                let before = self.0;
                self.varint()?;
                before.get(..before.len() - self.0.len())?
            }
            1 => self.take(8)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length)?
            }
            3 | 4 => &[],
            5 => self.take(4)?,
            _ => return None,
        };
        Some((key >> 3, content))
    }
}

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for place in 0..10 {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::v1::DeclareClaimsRequest;

    fn declaration(claims: usize) -> DeclareClaimsRequest {
        let claim = ClaimSpec {
            network: "pods".into(),
            name: "router".into(),
            families: vec![1, 2],
            addresses: vec!["10.0.0.1".into(); 3],
            holder: "x".repeat(300),
            ..ClaimSpec::default()
        };
        DeclareClaimsRequest {
            claims: vec![claim; claims],
            wait_ms: 300_000,
            ..DeclareClaimsRequest::default()
        }
    }

    #[test]
    fn claims_and_their_lists_are_counted() {
        let one = size_of::<ClaimSpec>() + 3 * size_of::<String>() + 2 * size_of::<i32>();
        for claims in [0, 1, MOST_CLAIMS] {
            assert_eq!(size(DECLARE, &declaration(claims).encode_to_vec()).unwrap(), 2 * claims * one);
        }
        assert_eq!(size("/tenure.v1.Claims/List", &declaration(3).encode_to_vec()).unwrap(), 0);
    }

    #[test]
    fn more_claims_than_an_agent_may_have_are_refused_by_their_bytes() {
        let error = size(DECLARE, &declaration(MOST_CLAIMS + 1).encode_to_vec()).unwrap_err();
        assert_eq!(
            (error.code, &*error.cause),
            (ErrorCode::ClaimInvalid, "1001 claims, and no agent may have more than 1000")
        );
        let error = size(DECLARE, &[10, 0].repeat(500_000)).unwrap_err();
        assert_eq!(error.code, ErrorCode::ClaimInvalid);
    }

    #[test]
    fn what_is_malformed_ends_the_count() {
        for message in [&[10][..], &[10, 200], &[0xff; 30], &[8], &[13, 1], &[15, 1], &[9, 0, 0]] {
            assert_eq!(size(DECLARE, message).unwrap(), 0, "{message:?}");
        }
        // A claim of which the end is malformed, behind a group.
        let bytes = size(ENSURE, &[19, 20, 10, 3, 0x22, 0, 0xff]).unwrap();
        assert_eq!(bytes, 2 * (size_of::<ClaimSpec>() + size_of::<String>()));
    }
}
