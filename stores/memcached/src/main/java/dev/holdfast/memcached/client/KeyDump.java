package dev.holdfast.memcached.client;

import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.LineBasedFrameDecoder;
import io.netty.handler.ssl.SslHandler;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Lists the keys of the server with {@code lru_crawler metadump}, on a connection of its own, because Folsom does not
 * have this command and its answer may be long.
 *
 * <p>The dump walks the server's hash table. A dump of its lists by age ({@code all}) misses a key that the server moves from
 * one list to another meanwhile, which it does with new keys all the time: 9 of 1,000 dumps of 25 new keys missed one
 * (memcached 1.6.18; see the server's pull request 735). Servers from before the end of 2020 have only that one; they are
 * asked for it when they refuse the other.
 */
final class KeyDump {

    private static final int MAX_LINE = 4_096;

    /** The server makes one dump at a time. One that finds it busy tries again so many times. */
    private static final int MAX_TRIES = 20;

    private static final long TRY_AGAIN_MILLIS = 25;

    /** Walk the hash table. */
    private static final String HASH_TABLE = "hash";

    /** Walk the lists by age, for servers that know nothing else. */
    private static final String AGE_LISTS = "all";

    private final MemcachedUrl url;
    private final Tls tls;
    private final EventLoopGroup thread;

    KeyDump(MemcachedUrl url, Tls tls, EventLoopGroup thread) {
        this.url = url;
        this.tls = tls;
        this.thread = thread;
    }

    /** The keys that begin with a text, in no order. */
    CompletableFuture<List<String>> keys(String prefix) {
        if (url.options().sasl()) {
            return CompletableFuture.failedFuture(StoreException.refused(
                    url + " cannot list its keys: there is no command for it in the binary protocol, which login=sasl"
                            + " needs. Inspect names one by one",
                    null));
        }
        Answer answer = new Answer(prefix);
        new Bootstrap()
                .group(thread)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        ChannelPipeline pipeline = channel.pipeline();
                        if (tls.isOn()) {
                            pipeline.addLast(new SslHandler(
                                    tls.engine(url.server().host(), url.server().port())));
                        }
                        pipeline.addLast(new LineBasedFrameDecoder(MAX_LINE), answer);
                    }
                })
                .connect(url.server().host(), url.server().port())
                .addListener((ChannelFutureListener) connected -> {
                    if (!connected.isSuccess()) {
                        answer.fail(connected.cause());
                    }
                });
        return answer.keys;
    }

    /** Reads the lines of the answer. */
    private final class Answer extends SimpleChannelInboundHandler<ByteBuf> {

        private final CompletableFuture<List<String>> keys = new CompletableFuture<>();
        private final List<String> found = new ArrayList<>();
        private final String prefix;
        private boolean loggingIn;
        private String order = HASH_TABLE;
        private int tries;

        private Answer(String prefix) {
            this.prefix = prefix;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            // A caller that has waited long enough does not keep the connection open.
            keys.whenComplete((list, failure) -> context.close());
            if (url.user() == null) {
                ask(context);
            } else {
                loggingIn = true;
                byte[] login = (url.user() + " " + url.password()).getBytes(StandardCharsets.UTF_8);
                send(context, "set login 0 0 " + login.length + "\r\n");
                context.write(Unpooled.wrappedBuffer(login));
                send(context, "\r\n");
            }
        }

        private void ask(ChannelHandlerContext context) {
            tries++;
            send(context, "lru_crawler metadump " + order + "\r\n");
        }

        private static void send(ChannelHandlerContext context, String text) {
            context.writeAndFlush(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
            String line = bytes.toString(StandardCharsets.US_ASCII);
            if (loggingIn && line.equals("STORED")) {
                loggingIn = false;
                ask(context);
            } else if (line.startsWith("key=")) {
                String key =
                        URLDecoder.decode(line.substring("key=".length(), line.indexOf(' ')), StandardCharsets.UTF_8);
                if (key.startsWith(prefix)) {
                    found.add(key);
                }
            } else if (line.equals("END")) {
                keys.complete(found);
            } else if (line.startsWith("BUSY") && tries < MAX_TRIES) {
                context.executor().schedule(() -> ask(context), TRY_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
            } else if (!loggingIn && order.equals(HASH_TABLE) && !line.startsWith("BUSY")) {
                order = AGE_LISTS;
                ask(context);
            } else {
                keys.completeExceptionally(StoreException.refused(
                        url + " did not list its keys: it said \"" + line
                                + "\". It needs the LRU crawler, which -o no_lru_crawler turns off",
                        null));
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            fail(new java.io.IOException("the connection was closed"));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            fail(cause);
        }

        private void fail(Throwable cause) {
            keys.completeExceptionally(MemcachedErrors.of(cause, Effect.NONE, url.toString()));
        }
    }
}
