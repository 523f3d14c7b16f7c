//! The parameters of the calls that attach, detach and delete.

use crate::transcript::{refusals, unthrottled};

#[tokio::test]
async fn of_attach_detach_and_delete() {
    let double = unthrottled(&[]).await;
    let refused = refusals(
        &double,
        "AttachNetworkInterface",
        &[
            "",
            "NetworkInterfaceId=x",
            "NetworkInterfaceId=x&InstanceId=y",
            "NetworkInterfaceId=x&InstanceId=y&DeviceIndex=",
            "NetworkInterfaceId=x&InstanceId=y&DeviceIndex=one",
            "NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1",
            "NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1&NetworkCardIndex=-1",
            "NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1&DryRun=true",
            "NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1&Device=1",
            "DeviceIndex=one&NetworkCardIndex=-1",
        ],
    )
    .await;
    insta::assert_snapshot!(refused, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 MissingParameter: The request must contain the parameter InstanceId
    NetworkInterfaceId=x&InstanceId=y
      400 MissingParameter: The request must contain the parameter DeviceIndex
    NetworkInterfaceId=x&InstanceId=y&DeviceIndex=
      400 InvalidParameterValue: Value () for parameter DeviceIndex is invalid.
    NetworkInterfaceId=x&InstanceId=y&DeviceIndex=one
      400 InvalidParameterValue: Value (one) for parameter DeviceIndex is invalid.
    NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1
      400 InvalidInstanceID.NotFound: The instance ID 'y' does not exist
    NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1&NetworkCardIndex=-1
      400 InvalidParameterValue: Value (-1) for parameter NetworkCardIndex is invalid.
    NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1&DryRun=true
      412 DryRunOperation: Request would have succeeded, but DryRun flag is set.
    NetworkInterfaceId=x&InstanceId=y&DeviceIndex=1&Device=1
      400 UnknownParameter: The parameter Device is not recognized
    DeviceIndex=one&NetworkCardIndex=-1
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    "#);
    let forms = [
        "",
        "AttachmentId=x",
        "AttachmentId=x&Force=maybe",
        "AttachmentId=x&A=1",
        "Force=maybe",
        "AttachmentId=x&DryRun=true",
    ];
    insta::assert_snapshot!(refusals(&double, "DetachNetworkInterface", &forms).await, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter AttachmentId
    AttachmentId=x
      400 InvalidAttachmentID.NotFound: The attachment ID 'x' does not exist
    AttachmentId=x&Force=maybe
      400 InvalidParameterValue: Value (maybe) for parameter Force is invalid.
    AttachmentId=x&A=1
      400 UnknownParameter: The parameter A is not recognized
    Force=maybe
      400 MissingParameter: The request must contain the parameter AttachmentId
    AttachmentId=x&DryRun=true
      412 DryRunOperation: Request would have succeeded, but DryRun flag is set.
    "#);
    let forms = [
        "",
        "NetworkInterfaceId=",
        "NetworkInterfaceId=x",
        "NetworkInterfaceId.1=x",
        "NetworkInterfaceId=x&A=1",
    ];
    insta::assert_snapshot!(refusals(&double, "DeleteNetworkInterface", &forms).await, @r#"
    nothing
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x
      400 InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'x' does not exist
    NetworkInterfaceId.1=x
      400 MissingParameter: The request must contain the parameter NetworkInterfaceId
    NetworkInterfaceId=x&A=1
      400 UnknownParameter: The parameter A is not recognized
    "#);
}
