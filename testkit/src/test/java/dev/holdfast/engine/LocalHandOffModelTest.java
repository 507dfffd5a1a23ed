package dev.holdfast.engine;

import dev.holdfast.testkit.process.ModelChecker;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The model of a grant that is passed on in a process, against the end of its lease and late renewals. */
class LocalHandOffModelTest {

    private static final String SETTINGS = """
            SPECIFICATION Spec
            CONSTANTS
              None = None
              Threads = {t1, t2}
              Lease = 2
              End = 4
              Renewals = 1
              Grants = 2
              Flaws = {%s}
            INVARIANTS %s
            """;

    @TempDir
    Path folder;

    @Test
    void holdersExcludeEachOtherAndALossIsFinal() {
        checker().proves(SETTINGS.formatted("", "OneHolder LostIsFinal TokensGrow"));
    }

    @ParameterizedTest
    @CsvSource({
        "counts from reply, OneHolder",
        "revives, LostIsFinal",
        "trusts the timer, OneHolder",
        "keeps the token, TokensGrow",
        "passes on what is over, TokensGrow",
        "releases whatever there is, OneHolder"
    })
    void eachMistakeIsFound(String flaw, String invariant) {
        checker().findsViolationOf(invariant, SETTINGS.formatted("\"" + flaw + "\"", invariant));
    }

    private ModelChecker checker() {
        return new ModelChecker(LocalHandOffModelTest.class, "LocalHandOff", folder);
    }
}
