//! The configuration in force.

use tenure_rpc::v1::GetConfigurationResponse;

use super::page::Page;
use super::parts::clean;
use super::shown::Shown;

impl Shown for GetConfigurationResponse {
    /// A file that `tenured --config` would take, with its source in a comment.
    fn page(&self, _: u64) -> Page {
        format!(
            "# {}, and the values of the keys that it does not set\n\n{}\n",
            clean(&self.file),
            self.toml.trim()
        )
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_file_with_its_source() {
        let (file, toml) = ("/etc/tenure/tenured.toml".into(), "[addresses]\ncooldown_seconds = 30\n".into());
        insta::assert_snapshot!(GetConfigurationResponse { file, toml }.page(0), @"
        # /etc/tenure/tenured.toml, and the values of the keys that it does not set

        [addresses]
        cooldown_seconds = 30
        ");
    }
}
