package dev.holdfast.benchmarks.soak;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** etcd: nothing stays. Keys, leases and watchers are leaks. It is asked by HTTP. */
final class EtcdProbe implements Probe {

    private static final Pattern COUNT = Pattern.compile("\"count\":\"(\\d+)\"");
    private static final Pattern LEASE = Pattern.compile("\"ID\":\"(-?\\d+)\"");
    private static final String WATCHERS = "etcd_debugging_mvcc_watcher_total ";
    /** All keys: from the first possible one on, without end; both are a zero byte in Base64. */
    private static final String ALL = "{\"key\":\"AA==\",\"range_end\":\"AA==\",\"count_only\":true}";

    private final String endpoint;

    EtcdProbe(String endpoint) {
        this.endpoint = endpoint;
    }

    @Override
    public long entries() {
        // A count of zero is left out of the answer.
        Matcher count = COUNT.matcher(send("/v3/kv/range", ALL));
        return count.find() ? Long.parseLong(count.group(1)) : 0;
    }

    @Override
    public List<String> residue() {
        List<String> found = new ArrayList<>();
        if (entries() > 0) {
            found.add(entries() + " keys");
        }
        Matcher lease = LEASE.matcher(send("/v3/lease/leases", "{}"));
        while (lease.find()) {
            found.add("the lease " + Long.toHexString(Long.parseLong(lease.group(1))));
        }
        send("/metrics", "")
                .lines()
                .filter(line -> line.startsWith(WATCHERS))
                .map(line -> line.substring(WATCHERS.length()))
                .filter(count -> Double.parseDouble(count) > 0)
                .forEach(count -> found.add(count + " watchers"));
        return found;
    }

    /** Asks with a connection of its own, which is closed: one that is kept would be counted. */
    private String send(String path, String body) {
        try {
            HttpURLConnection connection =
                    (HttpURLConnection) URI.create(endpoint + path).toURL().openConnection();
            connection.setRequestProperty("Connection", "close");
            if (!body.isEmpty()) {
                connection.setDoOutput(true);
                try (OutputStream request = connection.getOutputStream()) {
                    request.write(body.getBytes(StandardCharsets.UTF_8));
                }
            }
            try (InputStream answer = connection.getInputStream()) {
                return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
            }
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
