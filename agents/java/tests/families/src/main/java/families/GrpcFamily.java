/*
 * gRPC and Protocol Buffers: a service as the compiler of gRPC would make it, with a message that a library ships.
 */
package families;

import com.google.logging.type.HttpRequest;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.protobuf.StringValue;
import com.google.type.DateTime;
import com.google.type.PostalAddress;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

final class GrpcFamily implements Family {
    private static final MethodDescriptor<StringValue, PostalAddress> FIND =
            method(MethodType.UNARY, "Find", PostalAddress.getDefaultInstance());
    private static final MethodDescriptor<StringValue, PostalAddress> ALL =
            method(MethodType.SERVER_STREAMING, "All", PostalAddress.getDefaultInstance());
    private static final MethodDescriptor<StringValue, HttpRequest> LAST =
            method(MethodType.UNARY, "Last", HttpRequest.getDefaultInstance());
    private static final MethodDescriptor<StringValue, DateTime> SINCE =
            method(MethodType.UNARY, "Since", DateTime.getDefaultInstance());

    private static <T extends Message> MethodDescriptor<StringValue, T> method(MethodType type, String name, T answer) {
        return MethodDescriptor.<StringValue, T>newBuilder().setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName("families.Addresses", name))
                .setRequestMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
                .setResponseMarshaller(ProtoUtils.marshaller(answer)).build();
    }

    private static PostalAddress address(StringValue code) {
        return PostalAddress.newBuilder().setRegionCode("CN").setPostalCode("200000").setLocality("Shanghai")
                .setOrganization("Station " + code.getValue()).addAddressLines("Street 1").addAddressLines("Hall 2")
                .build();
    }

    private final Server server;
    private final ManagedChannel channel;

    GrpcFamily() throws IOException {
        server = ServerBuilder.forPort(0).addService(ServerServiceDefinition.builder("families.Addresses")
                .addMethod(FIND, ServerCalls.asyncUnaryCall((code, answer) -> {
                    answer.onNext(address(code));
                    answer.onCompleted();
                }))
                .addMethod(ALL, ServerCalls.asyncServerStreamingCall((code, answer) -> {
                    for (int count = 0; count < 3; count++) {
                        answer.onNext(address(code));
                    }
                    answer.onCompleted();
                }))
                .addMethod(LAST, ServerCalls.asyncUnaryCall((code, answer) -> {
                    answer.onNext(HttpRequest.newBuilder().setRequestUrl("/")
                            .setLatency(Duration.getDefaultInstance()).build());
                    answer.onCompleted();
                }))
                .addMethod(SINCE, ServerCalls.asyncUnaryCall((code, answer) -> {
                    answer.onNext(DateTime.newBuilder().setYear(2026)
                            .setUtcOffset(Duration.getDefaultInstance()).build());
                    answer.onCompleted();
                })).build()).build().start();
        channel = ManagedChannelBuilder.forAddress("localhost", server.getPort()).usePlaintext().build();
    }

    @Override
    public void ask(int number) throws InterruptedException, ExecutionException {
        StringValue code = StringValue.of("S" + number);
        one(code);
        stream(code);
        async(code);
        future(code);
        log(code);
        lines(code);
        isSet(code);
        isAmong(code);
    }

    private String one(StringValue code) {
        PostalAddress address =
                ClientCalls.blockingUnaryCall(channel, FIND, CallOptions.DEFAULT, code); // line: grpc
        return address.getLocality();
    }

    private int stream(StringValue code) {
        Iterator<PostalAddress> all =
                ClientCalls.blockingServerStreamingCall(channel, ALL, CallOptions.DEFAULT, code); // line: grpc-stream
        int length = 0;
        while (all.hasNext()) {
            length += all.next().getPostalCode().length();
        }
        return length;
    }

    private String async(StringValue code) throws InterruptedException, ExecutionException {
        CompletableFuture<String> found = new CompletableFuture<>();
        var call = channel.newCall(FIND, CallOptions.DEFAULT);
        ClientCalls.asyncUnaryCall(call, code, new StreamObserver<>() { // line: grpc-async
            @Override
            public void onNext(PostalAddress address) {
                found.complete(address.getRegionCode());
            }

            @Override
            public void onError(Throwable cause) {
                found.completeExceptionally(cause);
            }

            @Override
            public void onCompleted() {
                // It has come.
            }
        });
        return found.get();
    }

    private String future(StringValue code) throws InterruptedException, ExecutionException {
        var call = channel.newCall(FIND, CallOptions.DEFAULT);
        return ClientCalls.futureUnaryCall(call, code).get().getOrganization(); // line: grpc-future
    }

    private int log(StringValue code) {
        return ClientCalls.blockingUnaryCall(channel, FIND, CallOptions.DEFAULT, code) // line: grpc-log
                .toString().length();
    }

    private int lines(StringValue code) {
        return ClientCalls.blockingUnaryCall(channel, FIND, CallOptions.DEFAULT, code) // line: grpc-lines
                .getAddressLinesCount();
    }

    private boolean isSet(StringValue code) {
        return ClientCalls.blockingUnaryCall(channel, LAST, CallOptions.DEFAULT, code) // line: grpc-set
                .hasLatency();
    }

    private DateTime.TimeOffsetCase isAmong(StringValue code) {
        return ClientCalls.blockingUnaryCall(channel, SINCE, CallOptions.DEFAULT, code) // line: grpc-oneof
                .getTimeOffsetCase();
    }

    @Override
    public void close() throws InterruptedException {
        channel.shutdownNow();
        server.shutdownNow().awaitTermination();
    }
}
