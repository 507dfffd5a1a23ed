package dev.holdfast.quorum;

import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.StoreUrl;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * {@code quorum:URL,URL,URL[#option=value&...]}: the URLs of the nodes, and the options of the quorum.
 *
 * @param nodes the URLs of the nodes
 */
record QuorumUrl(List<String> nodes, QuorumOptions options) {

    static final String SCHEME = "quorum:";
    static final String FORM = "quorum:URL,URL,URL[#OPTION=VALUE&...]";

    private static final String PRODUCT = "a quorum";

    /**
     * Between nodes is a comma before a scheme; in the URL of one store a host follows it. No slashes follow the scheme of some
     * stores, which could also be a host with a port.
     */
    private static final Pattern BETWEEN_NODES =
            Pattern.compile(",(?=[a-z][a-z0-9+-]*://|(?:jdbc|sqlite|memory|quorum):(?!\\d+(?:[,/?]|$)))");

    private static final Pattern OPTIONS = Pattern.compile("[A-Za-z]+=[A-Za-z0-9]+(&[A-Za-z]+=[A-Za-z0-9]+)*");

    QuorumUrl {
        nodes = List.copyOf(nodes);
    }

    /**
     * Reads a URL. Whether the nodes' URLs are right is for their stores to say.
     *
     * @throws IllegalArgumentException if the URL is wrong; the message does not show a password
     */
    static QuorumUrl parse(String url) {
        int hash = url.lastIndexOf('#');
        String list = url.substring(SCHEME.length(), hash < 0 ? url.length() : hash);
        List<String> nodes = List.of(BETWEEN_NODES.split(list));
        if (nodes.stream().anyMatch(node -> node.isBlank() || node.startsWith(SCHEME))) {
            throw StoreUrl.wrong(url, PRODUCT, FORM);
        }
        QuorumLockStore.checkCount(nodes.size());
        if (new HashSet<>(nodes).size() < nodes.size()) {
            throw new IllegalArgumentException("Each node of a quorum must be a server of its own, but "
                    + StoreUrl.withoutPassword(url) + " names one of them twice");
        }
        return new QuorumUrl(nodes, hash < 0 ? QuorumOptions.DEFAULTS : options(url.substring(hash + 1), url));
    }

    private static QuorumOptions options(String text, String url) {
        // It may be a part of a password whose # is not encoded.
        if (!OPTIONS.matcher(text).matches()) {
            throw StoreUrl.wrong(url, PRODUCT, FORM);
        }
        Map<String, String> values = UrlOptions.split(text);
        Duration maxLease = QuorumOptions.DEFAULTS.maxLease();
        Duration nodeTimeout = QuorumOptions.DEFAULTS.nodeTimeout();
        boolean newNodes = QuorumOptions.DEFAULTS.newNodes();
        for (Map.Entry<String, String> option : values.entrySet()) {
            String value = option.getValue();
            switch (option.getKey()) {
                case "maxLease" -> maxLease = OptionTimes.parse("maxLease", value);
                case "nodeTimeout" -> nodeTimeout = OptionTimes.parse("nodeTimeout", value);
                case "newNodes" -> newNodes = isTrue(value);
                default ->
                    throw new IllegalArgumentException("The options of a quorum are maxLease, nodeTimeout and newNodes,"
                            + " but " + StoreUrl.withoutPassword(url) + " has another one");
            }
        }
        return new QuorumOptions(maxLease, nodeTimeout, newNodes);
    }

    private static boolean isTrue(String value) {
        return switch (value) {
            case "true" -> true;
            case "false" -> false;
            default ->
                throw new IllegalArgumentException("Option newNodes must be true or false, but was \"" + value + "\"");
        };
    }

    /** The URLs of the nodes without their passwords, for messages. */
    @Override
    public String toString() {
        return SCHEME + nodes.stream().map(StoreUrl::withoutPassword).collect(Collectors.joining(","));
    }
}
