package dev.holdfast.spring.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LossReason;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spring.boot.HoldfastAutoConfiguration;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.autoconfigure.endpoint.EndpointAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointAutoConfiguration;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.web.ExposableWebEndpoint;
import org.springframework.boot.actuate.endpoint.web.WebEndpointsSupplier;
import org.springframework.boot.actuate.endpoint.web.WebOperation;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroups;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The actuator of an application, asked over HTTP; and what of it is there at all. */
class LocksEndpointTest {

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static ConfigurableApplicationContext application;
    private static Holdfast locks;
    /** As in another process: those who wait in one client are handed the lock in it. */
    private static Holdfast other;

    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    EndpointAutoConfiguration.class,
                    WebEndpointAutoConfiguration.class,
                    HoldfastAutoConfiguration.class,
                    LocksEndpointAutoConfiguration.class))
            .withPropertyValues("holdfast.url=memory:");

    @BeforeAll
    static void start() {
        application = new SpringApplicationBuilder(Application.class)
                .properties(
                        "holdfast.url=memory:",
                        "holdfast.label=shop",
                        "server.port=0",
                        "spring.main.banner-mode=off",
                        "management.endpoints.web.exposure.include=locks,health,info",
                        "management.endpoint.locks.access=unrestricted",
                        "management.endpoint.health.show-details=always",
                        "management.endpoint.health.probes.enabled=true",
                        "holdfast.health.timeout=10s",
                        "management.info.holdfast.enabled=true",
                        "holdfast.election.name=billing")
                .run();
        locks = application.getBean(Holdfast.class);
        other = Holdfast.over(application.getBean(LockStore.class));
    }

    @AfterAll
    static void stop() {
        other.close();
        application.close();
    }

    @AfterEach
    void breakAll() {
        locks.list("test", 100).forEach(name -> locks.lock(name).forceRelease());
    }

    @Test
    void whoHoldsAndWhoWaitsIsShown() throws Exception {
        Lease held = locks.lock("test:a/1").tryAcquire().orElseThrow();
        CompletableFuture<Lease> waits = waiting("test:a/1");
        Map<String, Object> answer = json(get("/actuator/locks?prefix=test"));
        assertThat(answer).containsEntry("complete", true);
        Map<String, Object> lock = only(answer.get("locks"));
        assertThat(lock)
                .containsEntry("name", "test:a/1")
                .containsEntry("kind", "mutex")
                .containsEntry("waiters", 1);
        assertThat(only(lock.get("holders")))
                .containsEntry("token", Long.toString(held.token()))
                .containsEntry("label", "shop")
                .containsEntry("client", locks.clientId())
                .hasEntrySatisfying("owner", owner -> assertThat((String) owner).contains("\"shop\""))
                .hasEntrySatisfying("since", since -> assertThat((String) since).startsWith("PT"));
        assertThat(only(lock.get("queue")))
                .containsEntry("client", other.clientId())
                .doesNotContainKey("token");
        assertThat(json(get("/actuator/locks/test:a/1"))).containsEntry("name", "test:a/1");
        held.release();
        waits.get(10, TimeUnit.SECONDS).release();
    }

    @Test
    void kindsAreTold() throws Exception {
        assertThat(locks.semaphore("test:s", 3).tryAcquire(2)).isPresent();
        assertThat(locks.readWriteLock("test:r").readLock().tryAcquire()).isPresent();
        Map<String, Object> semaphore = json(get("/actuator/locks/test:s"));
        assertThat(semaphore).containsEntry("kind", "semaphore").containsEntry("permits", 3);
        assertThat(only(semaphore.get("holders"))).containsEntry("use", "2 permits");
        Map<String, Object> readers = json(get("/actuator/locks/test:r"));
        assertThat(readers).containsEntry("kind", "read-write lock");
        assertThat(only(readers.get("holders"))).containsEntry("use", "read");
    }

    @Test
    void whatNobodyUsesIsNotFoundAndWhatIsNoNameIsRefused() throws Exception {
        assertThat(get("/actuator/locks/test:nobody").statusCode()).isEqualTo(404);
        assertThat(get("/actuator/locks/" + "n".repeat(300)).statusCode()).isEqualTo(400);
        assertThat(get("/actuator/locks?limit=0").statusCode()).isEqualTo(400);
        assertThat(get("/actuator/locks?limit=1001").statusCode()).isEqualTo(400);
        assertThat(delete("/actuator/locks/").statusCode()).isBetween(400, 499);
    }

    @Test
    void aListThatIsCutSaysSo() throws Exception {
        assertThat(locks.lock("test:1").tryAcquire()).isPresent();
        assertThat(locks.lock("test:2").tryAcquire()).isPresent();
        Map<String, Object> cut = json(get("/actuator/locks?prefix=test&limit=1"));
        assertThat(only(cut.get("locks"))).containsEntry("name", "test:1");
        assertThat(cut).containsEntry("complete", false);
    }

    @Test
    void aLockIsTakenAwayFromItsHolderAndTheNextOneGetsIt() throws Exception {
        Lease held = locks.lock("test:b").tryAcquire().orElseThrow();
        CompletableFuture<LossReason> lost = new CompletableFuture<>();
        held.onLost(lost::complete);
        CompletableFuture<Lease> next = waiting("test:b");
        assertThat(json(delete("/actuator/locks/test:b?token=1024"))).containsEntry("released", List.of());
        assertThat(held.isValid()).isTrue();
        Map<String, Object> answer = json(delete("/actuator/locks/test:b?token=" + held.token()));
        assertThat(only(answer.get("released"))).containsEntry("token", Long.toString(held.token()));
        assertThat(lost).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(LossReason.BROKEN);
        next.get(10, TimeUnit.SECONDS).release();
        assertThat(json(delete("/actuator/locks/test:b"))).containsEntry("released", List.of());
    }

    @Test
    void theHealthOfTheStoreIsInNeitherProbe() throws Exception {
        Map<String, Object> health = part(json(get("/actuator/health")), "components");
        assertThat(part(part(health, "holdfast"), "details")).containsEntry("store", "memory");
        for (String probe : List.of("liveness", "readiness")) {
            assertThat(json(get("/actuator/health/" + probe))).containsEntry("status", "UP");
            assertThat(application
                            .getBean(HealthEndpointGroups.class)
                            .get(probe)
                            .isMember("holdfast"))
                    .as(probe)
                    .isFalse();
        }
    }

    @Test
    void theInfoNamesTheStoreAndTheElections() throws Exception {
        Map<String, Object> info = part(json(get("/actuator/info")), "holdfast");
        assertThat(info).containsEntry("store", "memory").containsEntry("client", locks.clientId());
        assertThat(part(info, "elections")).containsOnlyKeys("billing");
    }

    @Test
    void nothingIsThereUnlessItIsExposed() {
        runner.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LocksEndpoint.class));
        ofExposed()
                .withPropertyValues("management.endpoint.locks.access=NONE")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LocksEndpoint.class));
        ofExposed()
                .withClassLoader(new FilteredClassLoader(ConditionalOnAvailableEndpoint.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("locksEndpoint"));
    }

    @Test
    void nothingIsTakenAwayUnlessWritingIsAllowed() {
        ofExposed()
                .run(context -> assertThat(operations(context.getBean(WebEndpointsSupplier.class)))
                        .containsOnly(OperationType.READ)
                        .hasSize(2));
        ofExposed()
                .withPropertyValues("management.endpoint.locks.access=UNRESTRICTED")
                .run(context -> assertThat(operations(context.getBean(WebEndpointsSupplier.class)))
                        .contains(OperationType.DELETE));
        ofExposed()
                .withPropertyValues(
                        "management.endpoint.locks.access=UNRESTRICTED",
                        "management.endpoints.access.max-permitted=READ_ONLY")
                .run(context -> assertThat(operations(context.getBean(WebEndpointsSupplier.class)))
                        .containsOnly(OperationType.READ));
    }

    private WebApplicationContextRunner ofExposed() {
        return runner.withPropertyValues("management.endpoints.web.exposure.include=locks");
    }

    private static List<OperationType> operations(WebEndpointsSupplier endpoints) {
        return endpoints.getEndpoints().stream()
                .filter(endpoint -> endpoint.getEndpointId().toString().equals("locks"))
                .map(ExposableWebEndpoint::getOperations)
                .flatMap(operations -> operations.stream().map(WebOperation::getType))
                .toList();
    }

    private static CompletableFuture<Lease> waiting(String name) {
        CompletableFuture<Lease> waits = other.lock(name).acquireAsync(Duration.ofSeconds(30));
        while (locks.state(name).orElseThrow().waiters().isEmpty()) {
            Thread.onSpinWait();
        }
        return waits;
    }

    private static HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return HTTP.send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofString());
    }

    private static HttpResponse<String> delete(String path) throws IOException, InterruptedException {
        return HTTP.send(HttpRequest.newBuilder(uri(path)).DELETE().build(), BodyHandlers.ofString());
    }

    private static URI uri(String path) {
        return URI.create("http://localhost:" + application.getEnvironment().getProperty("local.server.port") + path);
    }

    private static Map<String, Object> json(HttpResponse<String> response) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return JsonParserFactory.getJsonParser().parseMap(response.body());
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> part(Map<String, Object> whole, String name) {
        assertThat(whole).containsKey(name);
        return (Map<String, Object>) whole.get(name);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> only(Object list) {
        assertThat((List<?>) list).hasSize(1);
        return (Map<String, Object>) ((List<?>) list).get(0);
    }

    /** An application with everything that this module's tests have, but for a Redis and a database of its own. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(exclude = {DataRedisAutoConfiguration.class, DataSourceAutoConfiguration.class})
    static class Application {}
}
