//! The parameters of `CreateNetworkInterface`: nested lists, tags and ranges.

use crate::transcript::{refusals, unthrottled};

#[tokio::test]
async fn of_create() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "CreateNetworkInterface",
        &[
            "",
            "SubnetId=",
            "SubnetId=subnet-9",
            "SubnetId=s&Colour=red",
            "SubnetId=s&DryRun=1",
            "SubnetId=s&DryRun=true",
            "ClientToken=%C3%A9",
            "ClientToken=12345678901234567890123456789012345678901234567890123456789012345",
            "InterfaceType=efa",
            "InterfaceType=",
            "SubnetId=s&SecurityGroupId.1=sg-9",
            "SubnetId=s&SecurityGroupId=sg-9",
            "PrivateIpAddress=ten",
            "PrivateIpAddress=",
            "PrivateIpAddress=10.0.0.9&PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.1.Primary=true",
            "PrivateIpAddresses.1=10.0.0.8",
            "PrivateIpAddresses.1.Primary=true",
            "PrivateIpAddresses.1.Primary=maybe",
            "PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.1.Primary=maybe",
            "PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.2.PrivateIpAddress=ten",
            "PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.1.Colour=red",
            "SubnetId=s&SecondaryPrivateIpAddressCount=-1",
            "SubnetId=s&SecondaryPrivateIpAddressCount=4294967296",
            "SubnetId=s&SecondaryPrivateIpAddressCount=1&PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8",
            "SubnetId=s&Ipv4PrefixCount=x",
            "SubnetId=s&Ipv4PrefixCount=1&SecondaryPrivateIpAddressCount=1",
            "SubnetId=s&Ipv4Prefix.1=10.0.0.16/28",
            "SubnetId=s&Ipv4Prefix.1.Ipv4Prefix=10.0.0.16",
            "SubnetId=s&Ipv4Prefix.1.Ipv6Prefix=x",
            "SubnetId=s&Ipv4Prefix.1.Ipv4Prefix=10.0.0.16/28&Ipv4Prefix.1.Colour=red",
            "SubnetId=s&Ipv6AddressCount=",
            "SubnetId=s&Ipv6Addresses.1.Ipv6Address=10.0.0.1",
            "SubnetId=s&Ipv6Addresses.1.Colour=red",
            "SubnetId=s&Ipv6Addresses.1=fd00::1",
            "SubnetId=s&Ipv6PrefixCount=1&Ipv6Prefix.1.Ipv6Prefix=fd00::/80",
            "SubnetId=s&Ipv6Prefix.1.Ipv6Prefix=fd00::",
            "SubnetId=s&Ipv6Prefix.1.Colour=red",
            "SubnetId=s&TagSpecification.1.Tag.1.Key=k",
            "SubnetId=s&TagSpecification.1.ResourceType=instance",
            "SubnetId=s&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Value=v",
            "SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Value=v",
            "SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=",
            "SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Tag.1.Colour=red",
            "SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Colour=red",
            "SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=aws:k",
            "SubnetId=s&ConnectionTrackingSpecification.TcpEstablishedTimeout=59",
            "SubnetId=s&ConnectionTrackingSpecification.TcpEstablishedTimeout=x",
            "SubnetId=s&ConnectionTrackingSpecification.UdpStreamTimeout=181",
            "SubnetId=s&ConnectionTrackingSpecification.UdpTimeout=61",
            "SubnetId=s&ConnectionTrackingSpecification.Colour=red",
            "SubnetId=s&ConnectionTrackingSpecification=60",
            "ClientToken=%C3%A9&InterfaceType=efa",
            "InterfaceType=efa&PrivateIpAddress=ten",
            "PrivateIpAddress=ten&SecondaryPrivateIpAddressCount=x",
            "SubnetId=s&Ipv6PrefixCount=x&Ipv4PrefixCount=y",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter SubnetId
    SubnetId=
      400 MissingParameter: The request must contain the parameter SubnetId
    SubnetId=subnet-9
      400 InvalidSubnetID.NotFound: The subnet ID 'subnet-9' does not exist
    SubnetId=s&Colour=red
      400 UnknownParameter: The parameter Colour is not recognized
    SubnetId=s&DryRun=1
      400 InvalidParameterValue: Value (1) for parameter DryRun is invalid.
    SubnetId=s&DryRun=true
      412 DryRunOperation: Request would have succeeded, but DryRun flag is set.
    ClientToken=%C3%A9
      400 InvalidParameterValue: A client token has at most 64 ASCII characters
    ClientToken=12345678901234567890123456789012345678901234567890123456789012345
      400 InvalidParameterValue: A client token has at most 64 ASCII characters
    InterfaceType=efa
      400 InvalidParameterValue: Value (efa) for parameter InterfaceType is invalid.
    InterfaceType=
      400 InvalidParameterValue: Value () for parameter InterfaceType is invalid.
    SubnetId=s&SecurityGroupId.1=sg-9
      400 InvalidGroup.NotFound: The security group 'sg-9' does not exist
    SubnetId=s&SecurityGroupId=sg-9
      400 UnknownParameter: The parameter SecurityGroupId is not recognized
    PrivateIpAddress=ten
      400 InvalidParameterValue: Value (ten) for parameter PrivateIpAddress is invalid.
    PrivateIpAddress=
      400 InvalidParameterValue: Value () for parameter PrivateIpAddress is invalid.
    PrivateIpAddress=10.0.0.9&PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.1.Primary=true
      400 InvalidParameterCombination: Only one address can be primary
    PrivateIpAddresses.1=10.0.0.8
      400 MissingParameter: The request must contain the parameter SubnetId
    PrivateIpAddresses.1.Primary=true
      400 MissingParameter: The request must contain the parameter PrivateIpAddresses.PrivateIpAddress
    PrivateIpAddresses.1.Primary=maybe
      400 MissingParameter: The request must contain the parameter PrivateIpAddresses.PrivateIpAddress
    PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.1.Primary=maybe
      400 InvalidParameterValue: Value (maybe) for parameter PrivateIpAddresses.1.Primary is invalid.
    PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.2.PrivateIpAddress=ten
      400 InvalidParameterValue: Value (ten) for parameter PrivateIpAddresses.2.PrivateIpAddress is invalid.
    PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8&PrivateIpAddresses.1.Colour=red
      400 UnknownParameter: The parameter PrivateIpAddresses.1.Colour is not recognized
    SubnetId=s&SecondaryPrivateIpAddressCount=-1
      400 InvalidParameterValue: Value (-1) for parameter SecondaryPrivateIpAddressCount is invalid.
    SubnetId=s&SecondaryPrivateIpAddressCount=4294967296
      400 InvalidParameterValue: Value (4294967296) for parameter SecondaryPrivateIpAddressCount is invalid.
    SubnetId=s&SecondaryPrivateIpAddressCount=1&PrivateIpAddresses.1.PrivateIpAddress=10.0.0.8
      400 InvalidParameterCombination: Only one of addresses, prefixes and their counts can be specified
    SubnetId=s&Ipv4PrefixCount=x
      400 InvalidParameterValue: Value (x) for parameter Ipv4PrefixCount is invalid.
    SubnetId=s&Ipv4PrefixCount=1&SecondaryPrivateIpAddressCount=1
      400 InvalidParameterCombination: Only one of addresses, prefixes and their counts can be specified
    SubnetId=s&Ipv4Prefix.1=10.0.0.16/28
      400 UnknownParameter: The parameter Ipv4Prefix.1 is not recognized
    SubnetId=s&Ipv4Prefix.1.Ipv4Prefix=10.0.0.16
      400 InvalidParameterValue: Value (10.0.0.16) for parameter Ipv4Prefix.1.Ipv4Prefix is invalid.
    SubnetId=s&Ipv4Prefix.1.Ipv6Prefix=x
      400 MissingParameter: The request must contain the parameter Ipv4Prefix.Ipv4Prefix
    SubnetId=s&Ipv4Prefix.1.Ipv4Prefix=10.0.0.16/28&Ipv4Prefix.1.Colour=red
      400 UnknownParameter: The parameter Ipv4Prefix.1.Colour is not recognized
    SubnetId=s&Ipv6AddressCount=
      400 InvalidParameterValue: Value () for parameter Ipv6AddressCount is invalid.
    SubnetId=s&Ipv6Addresses.1.Ipv6Address=10.0.0.1
      400 InvalidParameterValue: Value (10.0.0.1) for parameter Ipv6Addresses.1.Ipv6Address is invalid.
    SubnetId=s&Ipv6Addresses.1.Colour=red
      400 MissingParameter: The request must contain the parameter Ipv6Addresses.Ipv6Address
    SubnetId=s&Ipv6Addresses.1=fd00::1
      400 UnknownParameter: The parameter Ipv6Addresses.1 is not recognized
    SubnetId=s&Ipv6PrefixCount=1&Ipv6Prefix.1.Ipv6Prefix=fd00::/80
      400 InvalidParameterCombination: Only one of addresses, prefixes and their counts can be specified
    SubnetId=s&Ipv6Prefix.1.Ipv6Prefix=fd00::
      400 InvalidParameterValue: Value (fd00::) for parameter Ipv6Prefix.1.Ipv6Prefix is invalid.
    SubnetId=s&Ipv6Prefix.1.Colour=red
      400 MissingParameter: The request must contain the parameter Ipv6Prefix.Ipv6Prefix
    SubnetId=s&TagSpecification.1.Tag.1.Key=k
      400 MissingParameter: The request must contain the parameter TagSpecification.1.ResourceType
    SubnetId=s&TagSpecification.1.ResourceType=instance
      400 InvalidParameterValue: 'instance' is not a valid taggable resource type for this operation.
    SubnetId=s&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Value=v
      400 InvalidParameterValue: 'instance' is not a valid taggable resource type for this operation.
    SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Value=v
      400 MissingParameter: The request must contain the parameter TagSpecification.1.Tag.1.Key
    SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=
      400 MissingParameter: The request must contain the parameter TagSpecification.1.Tag.1.Key
    SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Tag.1.Colour=red
      400 UnknownParameter: The parameter TagSpecification.1.Tag.1.Colour is not recognized
    SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Colour=red
      400 UnknownParameter: The parameter TagSpecification.1.Colour is not recognized
    SubnetId=s&TagSpecification.1.ResourceType=network-interface&TagSpecification.1.Tag.1.Key=aws:k
      400 InvalidParameterValue: Tag keys starting with 'aws:' are reserved for internal use
    SubnetId=s&ConnectionTrackingSpecification.TcpEstablishedTimeout=59
      400 InvalidParameterValue: Value (59) for parameter ConnectionTrackingSpecification.TcpEstablishedTimeout is invalid.
    SubnetId=s&ConnectionTrackingSpecification.TcpEstablishedTimeout=x
      400 InvalidParameterValue: Value (x) for parameter ConnectionTrackingSpecification.TcpEstablishedTimeout is invalid.
    SubnetId=s&ConnectionTrackingSpecification.UdpStreamTimeout=181
      400 InvalidParameterValue: Value (181) for parameter ConnectionTrackingSpecification.UdpStreamTimeout is invalid.
    SubnetId=s&ConnectionTrackingSpecification.UdpTimeout=61
      400 InvalidParameterValue: Value (61) for parameter ConnectionTrackingSpecification.UdpTimeout is invalid.
    SubnetId=s&ConnectionTrackingSpecification.Colour=red
      400 UnknownParameter: The parameter ConnectionTrackingSpecification.Colour is not recognized
    SubnetId=s&ConnectionTrackingSpecification=60
      400 UnknownParameter: The parameter ConnectionTrackingSpecification is not recognized
    ClientToken=%C3%A9&InterfaceType=efa
      400 InvalidParameterValue: A client token has at most 64 ASCII characters
    InterfaceType=efa&PrivateIpAddress=ten
      400 InvalidParameterValue: Value (efa) for parameter InterfaceType is invalid.
    PrivateIpAddress=ten&SecondaryPrivateIpAddressCount=x
      400 InvalidParameterValue: Value (ten) for parameter PrivateIpAddress is invalid.
    SubnetId=s&Ipv6PrefixCount=x&Ipv4PrefixCount=y
      400 InvalidParameterValue: Value (y) for parameter Ipv4PrefixCount is invalid.
    "#);
}
