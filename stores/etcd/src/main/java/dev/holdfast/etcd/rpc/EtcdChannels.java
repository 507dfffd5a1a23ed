package dev.holdfast.etcd.rpc;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.store.ServerAddress;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Opens channels to the servers of a URL. A channel connects when it is first used. */
public final class EtcdChannels {

    /** After this time without data from the server, a ping checks whether the connection is alive. */
    private static final long SILENT_SECONDS = 10;

    /** A connection is dead if its ping is not answered within this time. */
    private static final long ANSWER_SECONDS = 3;

    /**
     * An attempt to connect ends after this time. While packets are dropped, the system would repeat an attempt at
     * ever longer intervals, and come late when the network is back.
     */
    private static final int CONNECT_MILLIS = 2_000;

    /** Queues are read in pages of a megabyte; this is for the keys of a session, which are listed at once. */
    private static final int MAX_ANSWER_BYTES = 32 * 1024 * 1024;

    private EtcdChannels() {}

    public static GrpcEtcdClient open(EtcdUrl url) {
        ChannelCredentials credentials = credentials(url);
        return new GrpcEtcdClient(
                endpoints(url, credentials),
                endpoints(url, credentials),
                new AuthToken(url.user(), url.password()),
                url.options().timeout(),
                url.toString());
    }

    private static Endpoints endpoints(EtcdUrl url, ChannelCredentials credentials) {
        List<ManagedChannel> channels = url.servers().stream()
                .map(server -> channel(server, credentials))
                .toList();
        return Endpoints.of(channels);
    }

    private static ManagedChannel channel(ServerAddress server, ChannelCredentials credentials) {
        return NettyChannelBuilder.forAddress(server.host(), server.port(), credentials)
                .directExecutor()
                .disableRetry()
                .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
                .maxInboundMessageSize(MAX_ANSWER_BYTES)
                .keepAliveTime(SILENT_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(ANSWER_SECONDS, TimeUnit.SECONDS)
                .build();
    }

    private static ChannelCredentials credentials(EtcdUrl url) {
        if (!url.tls()) {
            return InsecureChannelCredentials.create();
        }
        EtcdOptions options = url.options();
        TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
        try {
            String ca = options.ca();
            if (ca != null) {
                tls.trustManager(new File(ca));
            }
            String cert = options.cert();
            String key = options.key();
            if (cert != null && key != null) {
                tls.keyManager(new File(cert), new File(key));
            }
            return tls.build();
        } catch (IOException unreadable) {
            throw new IllegalArgumentException(
                    "Options ca, cert and key must name PEM files that can be read: " + unreadable.getMessage(),
                    unreadable);
        }
    }
}
