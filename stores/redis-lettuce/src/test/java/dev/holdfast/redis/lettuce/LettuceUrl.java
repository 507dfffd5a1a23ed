package dev.holdfast.redis.lettuce;

/** The URL of a server, Sentinels or a cluster, through Lettuce. */
final class LettuceUrl {

    private LettuceUrl() {}

    /** Makes it of the URL of the same servers through Jedis. */
    static String of(String url) {
        return url.replaceFirst("://", "+lettuce://");
    }
}
