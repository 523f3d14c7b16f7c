//! The parameters of the calls that assign and unassign.

use crate::transcript::{refusals, unthrottled};

#[tokio::test]
async fn of_assign_and_unassign() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "AssignPrivateIpAddresses",
        &[
            "",
            "NetworkInterfaceId=",
            "NetworkInterfaceId=x",
            "NetworkInterfaceId=x&SecondaryPrivateIpAddressCount=0",
            "NetworkInterfaceId=x&SecondaryPrivateIpAddressCount=1",
            "NetworkInterfaceId=x&SecondaryPrivateIpAddressCount=one",
            "NetworkInterfaceId=x&AllowReassignment=maybe",
            "NetworkInterfaceId=x&PrivateIpAddress.1=10.0.0.9&PrivateIpAddress.2=ten",
            "NetworkInterfaceId=x&PrivateIpAddress.1.A=10.0.0.9",
            "NetworkInterfaceId=x&PrivateIpAddress=10.0.0.9",
            "NetworkInterfaceId=x&Ipv4Prefix.1=10.0.0.16",
            "NetworkInterfaceId=x&Ipv4PrefixCount=one",
            "NetworkInterfaceId=x&Ipv4PrefixCount=1&Ipv4Prefix.1=10.0.0.16/28",
            "NetworkInterfaceId=x&Ipv4PrefixCount=1&DryRun=true",
            "NetworkInterfaceId=x&Ipv4PrefixCount=1&Colour=red",
            "AllowReassignment=maybe",
            "NetworkInterfaceId=x&AllowReassignment=maybe&PrivateIpAddress.1=ten",
            "NetworkInterfaceId=x&Ipv4PrefixCount=one&SecondaryPrivateIpAddressCount=one",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 MissingParameter: You must specify private IP addresses, prefixes, or the number of either
    NetworkInterfaceId=x&SecondaryPrivateIpAddressCount=0
      400 MissingParameter: You must specify private IP addresses, prefixes, or the number of either
    NetworkInterfaceId=x&SecondaryPrivateIpAddressCount=1
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId=x&SecondaryPrivateIpAddressCount=one
      400 InvalidParameterValue: Value (one) for parameter SecondaryPrivateIpAddressCount is invalid.
    NetworkInterfaceId=x&AllowReassignment=maybe
      400 InvalidParameterValue: Value (maybe) for parameter AllowReassignment is invalid.
    NetworkInterfaceId=x&PrivateIpAddress.1=10.0.0.9&PrivateIpAddress.2=ten
      400 InvalidParameterValue: Value (ten) for parameter PrivateIpAddress is invalid.
    NetworkInterfaceId=x&PrivateIpAddress.1.A=10.0.0.9
      400 MissingParameter: You must specify private IP addresses, prefixes, or the number of either
    NetworkInterfaceId=x&PrivateIpAddress=10.0.0.9
      400 MissingParameter: You must specify private IP addresses, prefixes, or the number of either
    NetworkInterfaceId=x&Ipv4Prefix.1=10.0.0.16
      400 InvalidParameterValue: Value (10.0.0.16) for parameter Ipv4Prefix is invalid.
    NetworkInterfaceId=x&Ipv4PrefixCount=one
      400 InvalidParameterValue: Value (one) for parameter Ipv4PrefixCount is invalid.
    NetworkInterfaceId=x&Ipv4PrefixCount=1&Ipv4Prefix.1=10.0.0.16/28
      400 InvalidParameterCombination: Only one of addresses, prefixes and their counts can be specified
    NetworkInterfaceId=x&Ipv4PrefixCount=1&DryRun=true
      400 UnknownParameter: The parameter DryRun is not recognized
    NetworkInterfaceId=x&Ipv4PrefixCount=1&Colour=red
      400 UnknownParameter: The parameter Colour is not recognized
    AllowReassignment=maybe
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x&AllowReassignment=maybe&PrivateIpAddress.1=ten
      400 InvalidParameterValue: Value (maybe) for parameter AllowReassignment is invalid.
    NetworkInterfaceId=x&Ipv4PrefixCount=one&SecondaryPrivateIpAddressCount=one
      400 InvalidParameterValue: Value (one) for parameter SecondaryPrivateIpAddressCount is invalid.
    "#);
    let refused = refusals(
        &double,
        "UnassignPrivateIpAddresses",
        &[
            "",
            "NetworkInterfaceId=x",
            "NetworkInterfaceId=x&PrivateIpAddress.1=10.0.0.9",
            "NetworkInterfaceId=x&PrivateIpAddress.1=ten",
            "NetworkInterfaceId=x&Ipv4Prefix.1=ten",
            "NetworkInterfaceId=x&Ipv4Prefix.1=10.0.0.16/28&Ipv4PrefixCount=1",
            "NetworkInterfaceId=x&Ipv4Prefix.1=10.0.0.16/28&DryRun=false",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 MissingParameter: The request must contain the parameter PrivateIpAddress
    NetworkInterfaceId=x&PrivateIpAddress.1=10.0.0.9
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId=x&PrivateIpAddress.1=ten
      400 InvalidParameterValue: Value (ten) for parameter PrivateIpAddress is invalid.
    NetworkInterfaceId=x&Ipv4Prefix.1=ten
      400 InvalidParameterValue: Value (ten) for parameter Ipv4Prefix is invalid.
    NetworkInterfaceId=x&Ipv4Prefix.1=10.0.0.16/28&Ipv4PrefixCount=1
      400 UnknownParameter: The parameter Ipv4PrefixCount is not recognized
    NetworkInterfaceId=x&Ipv4Prefix.1=10.0.0.16/28&DryRun=false
      400 UnknownParameter: The parameter DryRun is not recognized
    "#);
    let refused = refusals(
        &double,
        "AssignIpv6Addresses",
        &[
            "",
            "NetworkInterfaceId=x",
            "NetworkInterfaceId=x&Ipv6AddressCount=1",
            "NetworkInterfaceId=x&Ipv6AddressCount=one",
            "NetworkInterfaceId=x&Ipv6Addresses.1=ten",
            "NetworkInterfaceId=x&Ipv6Addresses.1.Ipv6Address=fd00::1",
            "NetworkInterfaceId=x&Ipv6Prefix.1=ten",
            "NetworkInterfaceId=x&Ipv6PrefixCount=one",
            "NetworkInterfaceId=x&Ipv6PrefixCount=1&Ipv6Addresses.1=fd00::1",
            "NetworkInterfaceId=x&Ipv6PrefixCount=1&DryRun=false",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 MissingParameter: You must specify IPv6 addresses, prefixes, or the number of either
    NetworkInterfaceId=x&Ipv6AddressCount=1
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId=x&Ipv6AddressCount=one
      400 InvalidParameterValue: Value (one) for parameter Ipv6AddressCount is invalid.
    NetworkInterfaceId=x&Ipv6Addresses.1=ten
      400 InvalidParameterValue: Value (ten) for parameter Ipv6Addresses is invalid.
    NetworkInterfaceId=x&Ipv6Addresses.1.Ipv6Address=fd00::1
      400 MissingParameter: You must specify IPv6 addresses, prefixes, or the number of either
    NetworkInterfaceId=x&Ipv6Prefix.1=ten
      400 InvalidParameterValue: Value (ten) for parameter Ipv6Prefix is invalid.
    NetworkInterfaceId=x&Ipv6PrefixCount=one
      400 InvalidParameterValue: Value (one) for parameter Ipv6PrefixCount is invalid.
    NetworkInterfaceId=x&Ipv6PrefixCount=1&Ipv6Addresses.1=fd00::1
      400 InvalidParameterCombination: Only one of addresses, prefixes and their counts can be specified
    NetworkInterfaceId=x&Ipv6PrefixCount=1&DryRun=false
      400 UnknownParameter: The parameter DryRun is not recognized
    "#);
    let refused = refusals(
        &double,
        "UnassignIpv6Addresses",
        &[
            "",
            "NetworkInterfaceId=x",
            "NetworkInterfaceId=x&Ipv6Addresses.1=fd00::1",
            "NetworkInterfaceId=x&Ipv6Addresses.1=ten",
            "NetworkInterfaceId=x&Ipv6Prefix.1=ten",
            "NetworkInterfaceId=x&Ipv6Prefix.1=fd00::/80&DryRun=false",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 MissingParameter: The request must contain the parameter Ipv6Addresses
    NetworkInterfaceId=x&Ipv6Addresses.1=fd00::1
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId=x&Ipv6Addresses.1=ten
      400 InvalidParameterValue: Value (ten) for parameter Ipv6Addresses is invalid.
    NetworkInterfaceId=x&Ipv6Prefix.1=ten
      400 InvalidParameterValue: Value (ten) for parameter Ipv6Prefix is invalid.
    NetworkInterfaceId=x&Ipv6Prefix.1=fd00::/80&DryRun=false
      400 UnknownParameter: The parameter DryRun is not recognized
    "#);
}
