package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** No part of a password is in a message, whatever it contains and whether that is encoded or not. */
class SecretsInUrlsTest {

    private static final String SECRET = "SECRET";

    private static final List<String> PLACES = List.of(
            "example://user:%s@h/path",
            "example://:%s@h:7?option=1",
            "example://user:%s@a,b",
            "example://h?sentinelPassword=%s",
            "example://h?a=1&keyStorePassword=%s&b=2",
            "example://user:other@h/path?trustStorePassword=%s",
            "jdbc:example://user:%s@h/db",
            "jdbc:example://h/db?user=u&password=%s&ssl=true",
            "jdbc:example:x;USER=u;PASSWORD=%s;MODE=y",
            "jdbc:example:thin:password=%s;x");

    @Provide
    Arbitrary<String> passwords() {
        // Chance finds the second kind too rarely: what makes the rest of a password look like another part of a URL.
        Arbitrary<String> part = Arbitraries.oneOf(
                Arbitraries.strings().withChars("ab1:/?&#@%;=+, \n").ofMaxLength(6),
                Arbitraries.of("1/", "1?", "1?a=", "1?password=", "x,y:1/", "&a=", "@b/", "@b:1?c="));
        return Combinators.combine(part, part).as((before, after) -> before + SECRET + after);
    }

    @Provide
    Arbitrary<String> places() {
        return Arbitraries.of(PLACES);
    }

    @Property(tries = 5_000)
    void passwordsAreNotShown(@ForAll("places") String place, @ForAll("passwords") String password) {
        String url = place.replace("%s", password);
        assertThat(StoreUrl.withoutPassword(url)).doesNotContain(SECRET);
        try {
            StoreUrl parsed = StoreUrl.parse(url, "Example", "example://HOST", 7);
            assertThat(parsed.toString()).doesNotContain(SECRET);
            UrlOptions.decoded(parsed.query()).forEach((name, value) -> {
                if (!name.endsWith("Password")) {
                    throw UrlOptions.unknown(name, UrlOptions.decoded(parsed.query()), "others");
                }
            });
        } catch (IllegalArgumentException refused) {
            assertThat(refused).message().doesNotContain(SECRET);
        }
    }
}
