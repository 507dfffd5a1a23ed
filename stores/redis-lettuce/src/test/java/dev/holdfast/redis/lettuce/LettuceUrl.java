package dev.holdfast.redis.lettuce;

/** The URL of a server, Sentinels or a cluster, through Lettuce. */
final class LettuceUrl {

    private LettuceUrl() {}

    /** Converts the URL of the same servers for Jedis. */
    static String of(String url) {
        return url.replaceFirst("://", "+lettuce://");
    }
}
