package dev.holdfast.etcd.rpc;

import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Metadata;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * User and password, and the token that the servers issue for them. A token is requested before the first call, and
 * again whenever a server no longer knows the current one.
 */
public final class AuthToken {

    private static final Metadata.Key<String> TOKEN = Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);
    /** Makes a server that has lost its leader end a stream, instead of keeping it open without sending anything. */
    private static final Metadata.Key<String> LEADER = Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER);

    private final @Nullable String user;
    private final String password;
    private @Nullable CompletableFuture<String> pending;
    private volatile @Nullable String token;

    public AuthToken(@Nullable String user, @Nullable String password) {
        this.user = user;
        this.password = password == null ? "" : password;
    }

    boolean isNeeded() {
        return user != null;
    }

    /** The token, if one is known. */
    @Nullable
    String token() {
        return token;
    }

    /** A channel whose calls carry a token and require that the server has a leader. */
    static Channel withHeaders(Channel channel, @Nullable String token) {
        return io.grpc.ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers(token)));
    }

    /** The headers of one call, which carry a token and require that the server has a leader. */
    static Metadata headers(@Nullable String token) {
        Metadata headers = new Metadata();
        headers.put(LEADER, "true");
        if (token != null) {
            headers.put(TOKEN, token);
        }
        return headers;
    }

    /** Requests a new token instead of a refused one; concurrent callers share one request. */
    CompletionStage<String> renew(Channel channel, CallOptions options, @Nullable String refused, long timeoutNanos) {
        CompletableFuture<String> result;
        synchronized (this) {
            String known = token;
            if (known != null && !known.equals(refused)) {
                return CompletableFuture.completedStage(known);
            }
            if (pending != null) {
                return pending;
            }
            result = new CompletableFuture<>();
            pending = result;
        }
        AuthenticateRequest request = AuthenticateRequest.newBuilder()
                .setName(user == null ? "" : user)
                .setPassword(password)
                .build();
        ClientCalls.asyncUnaryCall(
                channel.newCall(
                        AuthGrpc.getAuthenticateMethod(),
                        options.withDeadlineAfter(timeoutNanos, TimeUnit.NANOSECONDS)),
                request,
                new TokenObserver(result));
        return result;
    }

    private final class TokenObserver implements StreamObserver<AuthenticateResponse> {

        private final CompletableFuture<String> result;

        private TokenObserver(CompletableFuture<String> result) {
            this.result = result;
        }

        @Override
        public void onNext(AuthenticateResponse response) {
            token = response.getToken();
            ended();
            result.complete(response.getToken());
        }

        @Override
        public void onError(Throwable failure) {
            ended();
            result.completeExceptionally(failure);
        }

        @Override
        public void onCompleted() {
            ended();
        }

        private void ended() {
            synchronized (AuthToken.this) {
                pending = pending == result ? null : pending;
            }
        }
    }
}
