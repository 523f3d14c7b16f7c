import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;

/** Lists its claims over a unix socket, with nothing but gRPC's own library: messages are bytes. */
class Client {
  static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        public InputStream stream(byte[] bytes) {
          return new ByteArrayInputStream(bytes);
        }

        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException error) {
            throw new RuntimeException(error);
          }
        }
      };

  public static void main(String[] arguments) throws Exception {
    EpollEventLoopGroup group = new EpollEventLoopGroup(1);
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(new DomainSocketAddress(arguments[0]))
            .eventLoopGroup(group)
            .channelType(EpollDomainSocketChannel.class)
            .usePlaintext()
            .build();
    MethodDescriptor<byte[], byte[]> list =
        MethodDescriptor.newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("tenure.v1.Claims/List")
            .build();
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS);
    try {
      System.out.println(ClientCalls.blockingUnaryCall(channel, list, options, new byte[0]).length);
    } finally {
      // Its threads would keep a failed client alive.
      channel.shutdownNow();
      group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    }
  }
}
