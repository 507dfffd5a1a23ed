package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Users, passwords and tokens; and the user's own channels. */
class AuthenticationTest extends WithServer {

    @BeforeAll
    static void startTheServer() {
        // Tokens live for one second, so that they expire during the test.
        server = EtcdServer.start("--auth-token-ttl=1");
        server.addUsers("se/cr@et");
        server.control("user", "add", "stranger:secret");
    }

    @Test
    void userNeedsThePrefixOnly() {
        LockStore open = open("");
        granted(open, alice.mutex(name));
        open.close();
        server.control("auth", "enable");
        try {
            String at = "@" + server.address();
            LockStore store = openUrl("etcd://app:se%2Fcr%40et" + at + "?session=5s");
            var holder = alice.mutex(new dev.holdfast.spi.LockName("login"));
            granted(store, holder);
            RecordingListener waiter = waiting(store, bob.mutex(holder.name()));
            hidesPassword(store, "cr@et");
            hidesPassword(store, "cr%40et");
            // By now the token is refused; a new one is requested, and the session lives on.
            pause(2_500);
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
            get(store.release(holder));
            awaitGrant(waiter);
            assertThat(get(store.list("", 10))).isNotEmpty();

            assertRefused("etcd://" + server.address(), "asks for a user");
            assertRefused("etcd://app:wrong" + at, "password is wrong");
            assertRefused("etcd://stranger:secret" + at, "may not do this");
        } finally {
            server.control("--user=root:secret", "auth", "disable");
        }
    }

    @Test
    void channelOfTheUsersIsUsedAndNotClosed() {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.port())
                .usePlaintext()
                .build();
        try {
            LockStore store = closing(EtcdLockStore.over(channel, "session=5s"));
            var holder = alice.mutex(name);
            granted(store, holder);
            RecordingListener waiter = waiting(store, bob.mutex(name));
            get(store.release(holder));
            awaitGrant(waiter);
            store.close();
            assertThat(channel.isShutdown()).isFalse();
        } finally {
            channel.shutdownNow();
        }
    }

    private void assertRefused(String url, String why) {
        assertThatThrownBy(() -> openUrl(url))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(why)
                .hasMessageNotContaining("secret");
    }
}
