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
 * User and password, and the token that the servers give for them. A token is asked for before the first call and whenever
 * a server does not know the present one any more.
 */
public final class AuthToken {

    private static final Metadata.Key<String> TOKEN = Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);
    /** Lets a server that has lost its leader end a stream, instead of keeping it and saying nothing. */
    private static final Metadata.Key<String> LEADER = Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER);

    private final @Nullable String user;
    private final String password;
    private @Nullable CompletableFuture<String> asked;
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

    /** A channel whose calls carry a token and ask for a leader. */
    static Channel dressed(Channel channel, @Nullable String token) {
        Metadata headers = new Metadata();
        headers.put(LEADER, "true");
        if (token != null) {
            headers.put(TOKEN, token);
        }
        return io.grpc.ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    /** Asks for a new token instead of one that is refused; several callers share one question. */
    CompletionStage<String> renew(Channel channel, CallOptions options, @Nullable String refused, long timeoutNanos) {
        CompletableFuture<String> question;
        synchronized (this) {
            String known = token;
            if (known != null && !known.equals(refused)) {
                return CompletableFuture.completedStage(known);
            }
            if (asked != null) {
                return asked;
            }
            question = new CompletableFuture<>();
            asked = question;
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
                new Answer(question));
        return question;
    }

    private final class Answer implements StreamObserver<AuthenticateResponse> {

        private final CompletableFuture<String> question;

        private Answer(CompletableFuture<String> question) {
            this.question = question;
        }

        @Override
        public void onNext(AuthenticateResponse response) {
            token = response.getToken();
            over();
            question.complete(response.getToken());
        }

        @Override
        public void onError(Throwable failure) {
            over();
            question.completeExceptionally(failure);
        }

        @Override
        public void onCompleted() {
            over();
        }

        private void over() {
            synchronized (AuthToken.this) {
                asked = asked == question ? null : asked;
            }
        }
    }
}
