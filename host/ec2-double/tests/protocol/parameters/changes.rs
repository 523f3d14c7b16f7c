//! The parameters of the calls that modify and tag.

use crate::transcript::{refusals, unthrottled};

#[tokio::test]
async fn of_modify_and_tags() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "ModifyNetworkInterfaceAttribute",
        &[
            "",
            "NetworkInterfaceId=x",
            "NetworkInterfaceId=x&Description.Value=d",
            "NetworkInterfaceId=x&Description=d",
            "NetworkInterfaceId=x&Description.Value=d&Description.Colour=red",
            "NetworkInterfaceId=x&SourceDestCheck.Value=maybe",
            "NetworkInterfaceId=x&SourceDestCheck.Value=true&Description.Value=d",
            "NetworkInterfaceId=x&SecurityGroupId.1=sg-9&Description.Value=",
            "NetworkInterfaceId=x&Attachment.AttachmentId=a",
            "NetworkInterfaceId=x&Attachment.AttachmentId=&Attachment.DeleteOnTermination=true",
            "NetworkInterfaceId=x&Attachment.DeleteOnTermination=true",
            "NetworkInterfaceId=x&Attachment.DeleteOnTermination=maybe",
            "NetworkInterfaceId=x&Attachment.Colour=red",
            "NetworkInterfaceId=x&Attachment.Colour=red&Description.Value=d",
            "NetworkInterfaceId=x&ConnectionTrackingSpecification.UdpTimeout=29",
            "NetworkInterfaceId=x&ConnectionTrackingSpecification.UdpTimeout=x",
            "NetworkInterfaceId=x&ConnectionTrackingSpecification.UdpTimeout=30&Description.Value=d",
            "NetworkInterfaceId=x&Description.Value=d&Colour=red",
            "NetworkInterfaceId=x&Description.Value=d&DryRun=true",
            "Attachment.AttachmentId=a",
            "NetworkInterfaceId=x&Attachment.AttachmentId=a&SourceDestCheck.Value=maybe",
            "NetworkInterfaceId=x&SourceDestCheck.Value=maybe&ConnectionTrackingSpecification.UdpTimeout=x",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 InvalidParameterCombination: No attributes specified.
    NetworkInterfaceId=x&Description.Value=d
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId=x&Description=d
      400 InvalidParameterCombination: No attributes specified.
    NetworkInterfaceId=x&Description.Value=d&Description.Colour=red
      400 UnknownParameter: The parameter Description.Colour is not recognized
    NetworkInterfaceId=x&SourceDestCheck.Value=maybe
      400 InvalidParameterValue: Value (maybe) for parameter SourceDestCheck.Value is invalid.
    NetworkInterfaceId=x&SourceDestCheck.Value=true&Description.Value=d
      400 InvalidParameterCombination: Fields for multiple attribute types specified
    NetworkInterfaceId=x&SecurityGroupId.1=sg-9&Description.Value=
      400 InvalidParameterCombination: Fields for multiple attribute types specified
    NetworkInterfaceId=x&Attachment.AttachmentId=a
      400 MissingParameter: The request must contain the parameter Attachment.DeleteOnTermination
    NetworkInterfaceId=x&Attachment.AttachmentId=&Attachment.DeleteOnTermination=true
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId=x&Attachment.DeleteOnTermination=true
      400 MissingParameter: The request must contain the parameter Attachment.AttachmentId
    NetworkInterfaceId=x&Attachment.DeleteOnTermination=maybe
      400 InvalidParameterValue: Value (maybe) for parameter Attachment.DeleteOnTermination is invalid.
    NetworkInterfaceId=x&Attachment.Colour=red
      400 InvalidParameterCombination: No attributes specified.
    NetworkInterfaceId=x&Attachment.Colour=red&Description.Value=d
      400 UnknownParameter: The parameter Attachment.Colour is not recognized
    NetworkInterfaceId=x&ConnectionTrackingSpecification.UdpTimeout=29
      400 InvalidParameterValue: Value (29) for parameter ConnectionTrackingSpecification.UdpTimeout is invalid.
    NetworkInterfaceId=x&ConnectionTrackingSpecification.UdpTimeout=x
      400 InvalidParameterValue: Value (x) for parameter ConnectionTrackingSpecification.UdpTimeout is invalid.
    NetworkInterfaceId=x&ConnectionTrackingSpecification.UdpTimeout=30&Description.Value=d
      400 InvalidParameterCombination: Fields for multiple attribute types specified
    NetworkInterfaceId=x&Description.Value=d&Colour=red
      400 UnknownParameter: The parameter Colour is not recognized
    NetworkInterfaceId=x&Description.Value=d&DryRun=true
      412 DryRunOperation: Request would have succeeded, but DryRun flag is set.
    Attachment.AttachmentId=a
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x&Attachment.AttachmentId=a&SourceDestCheck.Value=maybe
      400 MissingParameter: The request must contain the parameter Attachment.DeleteOnTermination
    NetworkInterfaceId=x&SourceDestCheck.Value=maybe&ConnectionTrackingSpecification.UdpTimeout=x
      400 InvalidParameterValue: Value (maybe) for parameter SourceDestCheck.Value is invalid.
    "#);
    let (long, longer) = ("k".repeat(129), "v".repeat(257));
    let refused = refusals(
        &double,
        "CreateTags",
        &[
            "",
            "ResourceId.1=x",
            "Tag.1.Key=k",
            "ResourceId.1=x&Tag.1.Value=v",
            "ResourceId.1=x&Tag.1.Key=&Tag.1.Value=v",
            "ResourceId.1=x&Tag.1=k",
            "ResourceId.1=x&Tag.1.Key=k&Tag.1.Colour=red",
            "ResourceId.1=x&Tag.1.Key=k",
            "ResourceId.1=x&Tag.1.Key=aws:k",
            "ResourceId.1=x&Tag.1.Key=%3Ck%3E&Tag.2.Key=%3Ck%3E",
            &format!("ResourceId.1=x&Tag.1.Key={long}"),
            &format!("ResourceId.1=x&Tag.1.Key=k&Tag.1.Value={longer}"),
            "ResourceId.1=x&Tag.1.Key=aws:k&Tag.2.Value=v",
            "ResourceId.1=x&Tag.1.Key=aws:k&Tag.2.Key=k&Tag.2.Colour=red",
            "Tag.1.Key=aws:k",
            "ResourceId=x&Tag.1.Key=k",
            "ResourceId.1=x&Tag.1.Key=k&DryRun=true",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter ResourceId
    ResourceId.1=x
      400 MissingParameter: The request must contain the parameter Tag
    Tag.1.Key=k
      400 MissingParameter: The request must contain the parameter ResourceId
    ResourceId.1=x&Tag.1.Value=v
      400 MissingParameter: The request must contain the parameter Tag.1.Key
    ResourceId.1=x&Tag.1.Key=&Tag.1.Value=v
      400 MissingParameter: The request must contain the parameter Tag.1.Key
    ResourceId.1=x&Tag.1=k
      400 MissingParameter: The request must contain the parameter Tag
    ResourceId.1=x&Tag.1.Key=k&Tag.1.Colour=red
      400 UnknownParameter: The parameter Tag.1.Colour is not recognized
    ResourceId.1=x&Tag.1.Key=k
      400 InvalidID: The ID 'x' is not valid
    ResourceId.1=x&Tag.1.Key=aws:k
      400 InvalidParameterValue: Tag keys starting with 'aws:' are reserved for internal use
    ResourceId.1=x&Tag.1.Key=%3Ck%3E&Tag.2.Key=%3Ck%3E
      400 InvalidParameterValue: Duplicate tag key '&lt;k&gt;' specified.
    ResourceId.1=x&Tag.1.Key=kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
      400 InvalidParameterValue: Tag 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' exceeds the maximum length of its key or value
    ResourceId.1=x&Tag.1.Key=k&Tag.1.Value=vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv
      400 InvalidParameterValue: Tag 'k' exceeds the maximum length of its key or value
    ResourceId.1=x&Tag.1.Key=aws:k&Tag.2.Value=v
      400 InvalidParameterValue: Tag keys starting with 'aws:' are reserved for internal use
    ResourceId.1=x&Tag.1.Key=aws:k&Tag.2.Key=k&Tag.2.Colour=red
      400 InvalidParameterValue: Tag keys starting with 'aws:' are reserved for internal use
    Tag.1.Key=aws:k
      400 InvalidParameterValue: Tag keys starting with 'aws:' are reserved for internal use
    ResourceId=x&Tag.1.Key=k
      400 MissingParameter: The request must contain the parameter ResourceId
    ResourceId.1=x&Tag.1.Key=k&DryRun=true
      412 DryRunOperation: Request would have succeeded, but DryRun flag is set.
    "#);
}
