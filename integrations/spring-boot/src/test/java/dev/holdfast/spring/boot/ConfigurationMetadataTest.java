package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.core.io.support.SpringFactoriesLoader;

/** What an IDE and Boot itself read of this module. */
class ConfigurationMetadataTest {

    private static final Path PAGE = Path.of("../../docs/spring-boot.md");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| `(holdfast\\.[a-z.-]+)` \\| (?:`(.*?)`)?[^|]*\\|");

    @Test
    void everyKeyIsDescribedAndOnThePageWithItsDefault() throws Exception {
        Map<String, Map<String, Object>> keys = keys();
        assertThat(keys).containsKeys("holdfast.url", "holdfast.locked.max-wait", "holdfast.election.name");
        assertThat(keys.values()).allSatisfy(key -> {
            assertThat((String) key.get("description"))
                    .as("%s", key)
                    .isNotBlank()
                    .endsWith(".");
            assertThat(key).containsKey("type");
        });
        Map<String, String> onThePage = new TreeMap<>();
        Matcher row = ROW.matcher(Files.readString(PAGE));
        while (row.find()) {
            onThePage.putIfAbsent(row.group(1), Objects.requireNonNullElse(row.group(2), ""));
        }
        assertThat(onThePage.keySet()).isEqualTo(keys.keySet());
        onThePage.forEach((key, byDefault) -> {
            Object inCode = keys.get(key).get("defaultValue");
            if (inCode != null && !inCode.equals("")) {
                assertThat(byDefault).as(key).isEqualTo(inCode.toString());
            }
        });
    }

    @Test
    void everyAnalyzerIsRegistered() {
        List<FailureAnalyzer> analyzers = SpringFactoriesLoader.forDefaultResourceLocation()
                .load(FailureAnalyzer.class, (type, name, failure) -> {});
        assertThat(analyzers)
                .hasAtLeastOneElementOfType(InvalidLockedMethodFailureAnalyzer.class)
                .hasAtLeastOneElementOfType(NoLockStoreFailureAnalyzer.class)
                .hasAtLeastOneElementOfType(StoreUnavailableFailureAnalyzer.class);
    }

    private static Map<String, Map<String, Object>> keys() throws Exception {
        // Other modules have such a file, too: ours is the one beside our classes.
        Path ours = Path.of(HoldfastProperties.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toURI())
                .resolve("META-INF/spring-configuration-metadata.json");
        String text = Files.readString(ours);
        Map<String, Map<String, Object>> keys = new TreeMap<>();
        for (Object each :
                (List<?>) JsonParserFactory.getJsonParser().parseMap(text).get("properties")) {
            @SuppressWarnings("unchecked")
            Map<String, Object> key = (Map<String, Object>) each;
            String name = (String) key.get("name");
            if (name.startsWith("holdfast.")) { // the others are Boot's own, for the endpoint
                keys.put(name, key);
            }
        }
        return keys;
    }
}
