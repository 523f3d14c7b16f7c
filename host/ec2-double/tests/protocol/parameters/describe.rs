//! The parameters of the calls that describe: pages, identifiers, filters and the dry run.

use crate::transcript::{refusals, unthrottled};

#[tokio::test]
async fn of_interfaces() {
    let double = unthrottled(&["m5.large"]).await;
    let refused = refusals(
        &double,
        "DescribeNetworkInterfaces",
        &[
            "NetworkInterfaceId.1=eni-9&NetworkInterfaceId.2=%3Ceni%26",
            "NetworkInterfaceId.1=",
            "NetworkInterfaceId=eni-9",
            "NetworkInterfaceId.x=eni-9",
            "NetworkInterfaceId.1.Id=eni-9",
            "NetworkInterfaceId.1=eni-9&NetworkInterfaceId.01=eni-8",
            "MaxResults=five",
            "MaxResults=",
            "MaxResults=-5",
            "MaxResults=4",
            "MaxResults=1001",
            "MaxResults=5&NetworkInterfaceId.1=eni-9",
            "MaxResults=5&NetworkInterfaceId.x=eni-9",
            "MaxResults=5&NextToken=",
            "NextToken=0000000000000000eni-9",
            "Filter=x",
            "Filter.1=x",
            "Filter.1.Value.1=x",
            "Filter.1.Name=&Filter.1.Value.1=x",
            "Filter.2.Name=vpc-id",
            "Filter.01.Name=vpc-id&Filter.01.Colour=x",
            "Filter.1.Name=vpc-id&Filter.01.Values.1=x",
            "Filter.x.Name=vpc-id",
            "Filter.1.Name=vpc-id&Filter.1.Value=x",
            "Filter.1.Name=vpc-id&Filter.1.Value.one=x",
            "Filter.1.Name=vpc-id&Filter.1.Value.1.A=x",
            "Filter.1.Name.A=vpc-id&Filter.1.Value.1=x",
            "Filter.1.Name=%3Ccolour%3E&Filter.1.Value.1=x",
            "Filters.1.Name=vpc-id",
            "DryRun=yes",
            "DryRun=",
            "DryRun=True",
            "DryRun=true",
            "DryRun=true&Colour=red",
            "Colour=%26red",
            "B=2&A=1",
            "MaxResults=4&DryRun=maybe",
            "MaxResults=4&Filter.1.Value.1=x",
            "Filter.1.Value.1=x&A=1",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    NetworkInterfaceId.1=eni-9&NetworkInterfaceId.2=%3Ceni%26
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'eni-9, &lt;eni&amp;' does not exist
    NetworkInterfaceId.1=
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID '' does not exist
    NetworkInterfaceId=eni-9
      400 UnknownParameter: The parameter NetworkInterfaceId is not recognized
    NetworkInterfaceId.x=eni-9
      400 UnknownParameter: The parameter NetworkInterfaceId.x is not recognized
    NetworkInterfaceId.1.Id=eni-9
      400 UnknownParameter: The parameter NetworkInterfaceId.1.Id is not recognized
    NetworkInterfaceId.1=eni-9&NetworkInterfaceId.01=eni-8
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'eni-9' does not exist
    MaxResults=five
      400 InvalidParameterValue: Value (five) for parameter MaxResults is invalid.
    MaxResults=
      400 InvalidParameterValue: Value () for parameter MaxResults is invalid.
    MaxResults=-5
      400 InvalidParameterValue: Value (-5) for parameter MaxResults is invalid.
    MaxResults=4
      400 InvalidParameterValue: Value ( 4 ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.
    MaxResults=1001
      400 InvalidParameterValue: Value ( 1001 ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.
    MaxResults=5&NetworkInterfaceId.1=eni-9
      400 InvalidParameterCombination: The parameter NetworkInterfaceId cannot be used with the parameter MaxResults
    MaxResults=5&NetworkInterfaceId.x=eni-9
      400 InvalidParameterCombination: The parameter NetworkInterfaceId cannot be used with the parameter MaxResults
    MaxResults=5&NextToken=
      400 InvalidPaginationToken: The specified pagination token is not valid or is expired.
    NextToken=0000000000000000eni-9
      400 InvalidPaginationToken: The specified pagination token is not valid or is expired.
    Filter=x
      400 UnknownParameter: The parameter Filter is not recognized
    Filter.1=x
      400 UnknownParameter: The parameter Filter.1 is not recognized
    Filter.1.Value.1=x
      400 MissingParameter: The request must contain the parameter Filter.1.Name
    Filter.1.Name=&Filter.1.Value.1=x
      400 MissingParameter: The request must contain the parameter Filter.1.Name
    Filter.2.Name=vpc-id
      400 InvalidParameterValue: The filter 'vpc-id' must have a value
    Filter.01.Name=vpc-id&Filter.01.Colour=x
      400 UnknownParameter: The parameter Filter.01.Colour is not recognized
    Filter.1.Name=vpc-id&Filter.01.Values.1=x
      400 UnknownParameter: The parameter Filter.01.Values.1 is not recognized
    Filter.x.Name=vpc-id
      400 UnknownParameter: The parameter Filter.x.Name is not recognized
    Filter.1.Name=vpc-id&Filter.1.Value=x
      400 UnknownParameter: The parameter Filter.1.Value is not recognized
    Filter.1.Name=vpc-id&Filter.1.Value.one=x
      400 UnknownParameter: The parameter Filter.1.Value.one is not recognized
    Filter.1.Name=vpc-id&Filter.1.Value.1.A=x
      400 UnknownParameter: The parameter Filter.1.Value.1.A is not recognized
    Filter.1.Name.A=vpc-id&Filter.1.Value.1=x
      400 MissingParameter: The request must contain the parameter Filter.1.Name
    Filter.1.Name=%3Ccolour%3E&Filter.1.Value.1=x
      400 InvalidParameterValue: The filter '&lt;colour&gt;' is invalid
    Filters.1.Name=vpc-id
      400 UnknownParameter: The parameter Filters.1.Name is not recognized
    DryRun=yes
      400 InvalidParameterValue: Value (yes) for parameter DryRun is invalid.
    DryRun=
      400 InvalidParameterValue: Value () for parameter DryRun is invalid.
    DryRun=True
      400 InvalidParameterValue: Value (True) for parameter DryRun is invalid.
    DryRun=true
      412 DryRunOperation: Request would have succeeded, but DryRun flag is set.
    DryRun=true&Colour=red
      400 UnknownParameter: The parameter Colour is not recognized
    Colour=%26red
      400 UnknownParameter: The parameter Colour is not recognized
    B=2&A=1
      400 UnknownParameter: The parameter A is not recognized
    MaxResults=4&DryRun=maybe
      400 InvalidParameterValue: Value (maybe) for parameter DryRun is invalid.
    MaxResults=4&Filter.1.Value.1=x
      400 InvalidParameterValue: Value ( 4 ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.
    Filter.1.Value.1=x&A=1
      400 MissingParameter: The request must contain the parameter Filter.1.Name
    "#);
}

#[tokio::test]
async fn of_instances() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "DescribeInstances",
        &[
            "InstanceId.1=i-9",
            "MaxResults=5&InstanceId.1=i-9",
            "MaxResults=1001",
            "Filter.1.Name=zone&Filter.1.Value.1=x",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    InstanceId.1=i-9
      400 InvalidInstanceID.NotFound: The instance ID 'i-9' does not exist
    MaxResults=5&InstanceId.1=i-9
      400 InvalidParameterCombination: The parameter InstanceId cannot be used with the parameter MaxResults
    MaxResults=1001
      400 InvalidParameterValue: Value ( 1001 ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.
    Filter.1.Name=zone&Filter.1.Value.1=x
      400 InvalidParameterValue: The filter 'zone' is invalid
    "#);
}

#[tokio::test]
async fn of_instance_types() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "DescribeInstanceTypes",
        &[
            "InstanceType.1=t3.huge&InstanceType.2=m5.large&InstanceType.3=t4",
            "InstanceType.1=t3.huge&Colour=red",
            "MaxResults=5&InstanceType.1=m5.large",
            "MaxResults=101",
            "Filter.1.Name=zone&Filter.1.Value.1=x",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    InstanceType.1=t3.huge&InstanceType.2=m5.large&InstanceType.3=t4
      400 InvalidInstanceType: The following supplied instance types do not exist: [t3.huge, t4]
    InstanceType.1=t3.huge&Colour=red
      400 InvalidInstanceType: The following supplied instance types do not exist: [t3.huge]
    MaxResults=5&InstanceType.1=m5.large
      400 InvalidParameterCombination: The parameter InstanceType cannot be used with the parameter MaxResults
    MaxResults=101
      400 InvalidParameterValue: Value ( 101 ) for parameter maxResults is invalid. Expecting a value between 5 and 100.
    Filter.1.Name=zone&Filter.1.Value.1=x
      400 InvalidParameterValue: The filter 'zone' is invalid
    "#);
}

#[tokio::test]
async fn of_subnets() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "DescribeSubnets",
        &[
            "SubnetId.1=subnet-9",
            "SubnetId=subnet-9",
            "MaxResults=5&SubnetId.1=x",
            "Filter.1.Name=zone&Filter.1.Value.1=x",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    SubnetId.1=subnet-9
      400 InvalidSubnetID.NotFound: The subnet ID 'subnet-9' does not exist
    SubnetId=subnet-9
      400 UnknownParameter: The parameter SubnetId is not recognized
    MaxResults=5&SubnetId.1=x
      400 InvalidParameterCombination: The parameter SubnetId cannot be used with the parameter MaxResults
    Filter.1.Name=zone&Filter.1.Value.1=x
      400 InvalidParameterValue: The filter 'zone' is invalid
    "#);
}

#[tokio::test]
async fn of_reservations() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "GetSubnetCidrReservations",
        &[
            "",
            "SubnetId=",
            "SubnetId.1=x",
            "SubnetId=subnet-9",
            "MaxResults=4",
            "SubnetId=x&Filter.1.Name=zone&Filter.1.Value.1=x",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter SubnetId
    SubnetId=
      400 MissingParameter: The request must contain the parameter SubnetId
    SubnetId.1=x
      400 MissingParameter: The request must contain the parameter SubnetId
    SubnetId=subnet-9
      400 InvalidSubnetID.NotFound: The subnet ID 'subnet-9' does not exist
    MaxResults=4
      400 InvalidParameterValue: Value ( 4 ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.
    SubnetId=x&Filter.1.Name=zone&Filter.1.Value.1=x
      400 InvalidParameterValue: The filter 'zone' is invalid
    "#);
}
