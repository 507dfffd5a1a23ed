package dev.holdfast.buildrules;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The rules about the code of all modules below a root package: {@code dev.holdfast}, or the fixtures that show that
 * each rule works. A module is the first part of the package name after the root; the core consists of several.
 */
record Rules(String root) {

    private static final Set<String> CORE = Set.of("", "election", "spi", "store", "internal", "memory");
    private static final Set<String> PUBLIC_CORE = Set.of("", "election", "spi", "store");

    /** May use the store in memory by its class. Everyone else connects to it by its URL. */
    private static final Set<String> MAY_USE_MEMORY = Set.of("testkit", "cli");

    /**
     * The API calls the engine, and the engine uses types of the API, of which elections are a part; the laws of the TCK
     * use the tools of the testkit.
     */
    private static final Set<String> MAY_HAVE_CYCLES =
            Set.of("", ".election", ".internal", ".testkit", ".testkit.law", ".testkit.model");

    /** Programs may use stores and tools by their classes. Nothing depends on a program. */
    private static final Set<String> PROGRAMS = Set.of("cli", "benchmarks");

    /**
     * Fences read the rows of the locks in the user's own transaction. Spring's module makes the stores in the Redis and the database
     * that an application has, and its metrics.
     */
    private static final Map<String, Set<String>> MAY_USE_A_STORE =
            Map.of("fence", Set.of("jdbc"), "spring", Set.of("jdbc", "redis", "micrometer"));

    /** The modules whose time is not injected: they are no part of a running lock, or they are programs. */
    private static final Set<String> MAY_READ_THE_TIME = Set.of("testkit", "cli", "benchmarks");

    /** The only classes of the core and of the stores that may read the time: they implement the clock. */
    private static final Set<String> CLOCKS = Set.of("spi.MonotonicClock");

    private static final Set<String> TIME_AND_SLEEP = Set.of(
            "java.lang.System.currentTimeMillis",
            "java.time.Instant.now",
            "java.lang.Thread.sleep",
            "java.util.concurrent.TimeUnit.sleep");

    private static final Pattern VAGUE_CLASS =
            Pattern.compile("(.*[a-z0-9])?(Util|Utils|Utilities|Common|Commons|Support|Manager)([A-Z0-9].*)?");
    private static final Pattern VAGUE_PACKAGE =
            Pattern.compile("(.*\\.)?(util|utils|utilities|common|commons|support|manager)(\\..*)?");

    /** A module uses itself and the public packages of the core, and few other classes of ours. */
    ArchRule dependenciesPointToTheCore() {
        return classes()
                .that(are("are ours", this::isOurs))
                .should(new ArchCondition<JavaClass>("depend on their own module and the core's public packages only") {
                    @Override
                    public void check(JavaClass from, ConditionEvents events) {
                        from.getDirectDependenciesFromSelf().stream()
                                .filter(dependency -> !mayUse(from, dependency.getTargetClass()))
                                .map(dependency -> SimpleConditionEvent.violated(from, dependency.getDescription()))
                                .forEach(events::add);
                    }
                })
                .allowEmptyShould(true);
    }

    /** The SPI, which a store implements, does not know what is built on it. */
    ArchRule spiStandsAlone() {
        return noClasses()
                .that(are("are in the spi", type -> isOurs(type) && module(type).equals("spi")))
                .should()
                .dependOnClassesThat(are(
                        "ours, outside the spi",
                        type -> isOurs(type) && !module(type).equals("spi")))
                .allowEmptyShould(true);
    }

    /** What authors of stores share does not know what is built on stores. */
    ArchRule storeUsesTheSpiOnly() {
        return noClasses()
                .that(are("are in store", type -> isOurs(type) && module(type).equals("store")))
                .should()
                .dependOnClassesThat(are(
                        "ours, outside store and the spi",
                        type -> isOurs(type) && !Set.of("store", "spi").contains(module(type))))
                .allowEmptyShould(true);
    }

    /** The packages of a module form layers: no two of them need each other. */
    ArchRule packagesFormNoCycles() {
        return slices().assignedFrom(new SliceAssignment() {
                    @Override
                    public SliceIdentifier getIdentifierOf(JavaClass type) {
                        return isOurs(type)
                                        && !MAY_HAVE_CYCLES.contains(
                                                type.getPackageName().substring(root.length()))
                                ? SliceIdentifier.of(type.getPackageName())
                                : SliceIdentifier.ignore();
                    }

                    @Override
                    public String getDescription() {
                        return "packages";
                    }
                })
                .should()
                .beFreeOfCycles()
                .allowEmptyShould(true);
    }

    /** The core needs the JDK, and annotations at compile time. */
    ArchRule coreNeedsTheJdkOnly() {
        return classes()
                .that(are("are in the core", this::isCore))
                .should()
                .onlyDependOnClassesThat(are("are ours", this::isOurs)
                        .or(resideInAnyPackage("java..", "jdk.jfr..", "org.jspecify.annotations..")))
                .allowEmptyShould(true);
    }

    /** A name says what a thing does. */
    ArchRule namesSayWhatAThingDoes() {
        return noClasses()
                .that(are("are ours", this::isOurs))
                .should(ArchCondition.from(are(
                        "hidden behind a vague name",
                        type -> VAGUE_CLASS.matcher(type.getSimpleName()).matches()
                                || VAGUE_PACKAGE.matcher(type.getPackageName()).matches())))
                .allowEmptyShould(true);
    }

    /** Time is injected, so that a test can stop it; and nothing sleeps, since a sleeping thread cannot be woken. */
    ArchRule onlyAClockReadsTheTime() {
        return noClasses()
                .that(are("are in the core or a store and no clock", type -> isOurs(type) && !mayReadTheTime(type)))
                .should()
                .accessTargetWhere(describe("the time is read, or a thread sleeps", Rules::readsTheTimeOrSleeps))
                .allowEmptyShould(true);
    }

    /** The API that a user must learn stays small. */
    ArchRule theApiHasAtMost(int limit) {
        return classes()
                .that(are("are public types of the API", this::isApi))
                .should(new ArchCondition<JavaClass>("be at most " + limit) {
                    private int count;

                    @Override
                    public void init(Collection<JavaClass> types) {
                        count = types.size();
                    }

                    @Override
                    public void check(JavaClass type, ConditionEvents events) {
                        if (count > limit) {
                            events.add(SimpleConditionEvent.violated(type, type.getName() + " is one of " + count));
                        }
                    }
                })
                .allowEmptyShould(true);
    }

    private boolean mayUse(JavaClass from, JavaClass to) {
        if (!isOurs(to) || module(from).equals(module(to)) || PUBLIC_CORE.contains(module(to))) {
            return true;
        }
        return switch (module(to)) {
            case "internal" -> isCore(from);
            case "memory" -> isCore(from) || MAY_USE_MEMORY.contains(module(from));
            default ->
                MAY_USE_A_STORE.getOrDefault(module(from), Set.of()).contains(module(to))
                        || (PROGRAMS.contains(module(from)) && !PROGRAMS.contains(module(to)));
        };
    }

    private boolean mayReadTheTime(JavaClass type) {
        String outermost = type.getName().split("\\$")[0];
        return MAY_READ_THE_TIME.contains(module(type)) || CLOCKS.contains(outermost.substring(root.length() + 1));
    }

    private static boolean readsTheTimeOrSleeps(JavaAccess<?> access) {
        return TIME_AND_SLEEP.contains(
                access.getTargetOwner().getName() + "." + access.getTarget().getName());
    }

    private boolean isApi(JavaClass type) {
        return type.getPackageName().equals(root)
                && type.isTopLevelClass()
                && type.getModifiers().contains(JavaModifier.PUBLIC);
    }

    private boolean isCore(JavaClass type) {
        return isOurs(type) && CORE.contains(module(type));
    }

    private boolean isOurs(JavaClass type) {
        return (type.getPackageName() + ".").startsWith(root + ".");
    }

    private String module(JavaClass type) {
        String below = type.getPackageName().substring(root.length());
        return below.isEmpty() ? "" : below.split("\\.")[1];
    }

    private static DescribedPredicate<JavaClass> are(String what, Predicate<JavaClass> test) {
        return describe(what, test);
    }
}
