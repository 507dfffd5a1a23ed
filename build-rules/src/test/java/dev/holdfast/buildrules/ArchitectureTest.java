package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Each rule holds for our code, and rejects a fixture that was written to break it. */
class ArchitectureTest {

    private static final int MOST_PUBLIC_TYPES = 15;
    private static final int MOST_TYPES_OF_ELECTIONS = 5;
    private static final String FIXTURES = "dev.holdfast.buildrules.fixture";

    private static final JavaClasses OUR_CODE = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.holdfast");
    private static final JavaClasses FIXTURE_CODE = new ClassFileImporter().importPackages(FIXTURES);

    @Test
    void everyModuleIsSeen() {
        for (String module : List.of(
                "",
                ".election",
                ".spi",
                ".store",
                ".internal",
                ".memory",
                ".testkit",
                ".jdbc",
                ".fence.jdbc",
                ".redis",
                ".redis.lettuce",
                ".zookeeper",
                ".etcd",
                ".memcached",
                ".quorum",
                ".spring",
                ".spring.boot",
                ".shedlock",
                ".micrometer",
                ".springintegration",
                ".workload",
                ".cli",
                ".benchmarks")) {
            assertThat(OUR_CODE.contain("dev.holdfast" + module + ".package-info"))
                    .as("dev.holdfast" + module)
                    .isTrue();
        }
    }

    @Test
    void dependenciesPointToTheCore() {
        holds(Rules::dependenciesPointToTheCore);
        rejects(
                Rules::dependenciesPointToTheCore,
                "onestore.UsesTheEngine",
                "onestore.UsesTheMemoryStore",
                "onestore.UsesAnotherStore",
                "internal.UsesAStore");
    }

    @Test
    void theSpiStandsAlone() {
        holds(Rules::spiStandsAlone);
        rejects(Rules::spiStandsAlone, "spi.UsesTheApi");
    }

    @Test
    void whatStoresShareUsesTheSpiOnly() {
        holds(Rules::storeUsesTheSpiOnly);
        rejects(Rules::storeUsesTheSpiOnly, "store.UsesTheApi");
    }

    @Test
    void packagesFormNoCycles() {
        holds(Rules::packagesFormNoCycles);
        rejects(Rules::packagesFormNoCycles, "onestore.NeedsTheRoom", "onestore.room.NeedsTheStore");
    }

    @Test
    void theCoreNeedsTheJdkOnly() {
        holds(Rules::coreNeedsTheJdkOnly);
        rejects(Rules::coreNeedsTheJdkOnly, "internal.UsesALibrary");
    }

    @Test
    void namesSayWhatAThingDoes() {
        holds(Rules::namesSayWhatAThingDoes);
        rejects(Rules::namesSayWhatAThingDoes, "onestore.KeyUtils", "support.Anything");
    }

    @Test
    void onlyAClockReadsTheTime() {
        holds(Rules::onlyAClockReadsTheTime);
        rejects(Rules::onlyAClockReadsTheTime, "onestore.ReadsTheTime", "internal.Sleeps");
    }

    @Test
    void theApiStaysSmall() {
        holds(rules -> rules.theApiHasAtMost(MOST_PUBLIC_TYPES));
        new Rules("dev.holdfast.election")
                .theApiHasAtMost(MOST_TYPES_OF_ELECTIONS)
                .check(OUR_CODE);
        assertThat(complaintsAboutFixtures(rules -> rules.theApiHasAtMost(1))).contains(FIXTURES + ".OneApiType");
        assertThat(complaintsAboutFixtures(rules -> rules.theApiHasAtMost(2))).isEmpty();
    }

    @Test
    void goodCodeIsNotRejected() {
        assertThat(complaintsAboutFixtures(Rules::dependenciesPointToTheCore)).doesNotContain(".Good");
        assertThat(complaintsAboutFixtures(Rules::namesSayWhatAThingDoes)).doesNotContain("GoodUnsupportedKind");
        assertThat(complaintsAboutFixtures(Rules::onlyAClockReadsTheTime)).doesNotContain("MonotonicClock");
    }

    private static void holds(Function<Rules, ArchRule> rule) {
        rule.apply(new Rules("dev.holdfast")).check(OUR_CODE);
    }

    private static void rejects(Function<Rules, ArchRule> rule, String... culprits) {
        for (String culprit : culprits) {
            assertThat(complaintsAboutFixtures(rule)).contains(FIXTURES + "." + culprit);
        }
    }

    private static String complaintsAboutFixtures(Function<Rules, ArchRule> rule) {
        return String.join(
                "\n",
                rule.apply(new Rules(FIXTURES))
                        .evaluate(FIXTURE_CODE)
                        .getFailureReport()
                        .getDetails());
    }
}
