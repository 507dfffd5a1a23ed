package dev.holdfast.spi;

import java.util.List;

/**
 * Describes who made a claim, for people and for the detection of deadlocks. It is not part of a claim's identity,
 * and a renewal replaces it. Texts are cut to {@value #MAX_TEXT} characters, control characters become {@code ?},
 * and at most {@value #MAX_HELD} held names are kept, of at most {@value LockName#MAX_BYTES} characters each.
 *
 * @param client the id of the client
 * @param host the host's name, or empty
 * @param pid the process id on that host, or 0
 * @param thread the name of the thread that asked, or empty
 * @param label a text that the user chose, or empty
 * @param held names that the threads waiting behind this claim hold already
 */
public record OwnerInfo(String client, String host, long pid, String thread, String label, List<String> held) {

    /** The maximum length of a text field, in characters. */
    public static final int MAX_TEXT = 128;

    /** The maximum number of held names that are kept. */
    public static final int MAX_HELD = 16;

    public OwnerInfo {
        client = bounded(client, MAX_TEXT);
        host = bounded(host, MAX_TEXT);
        thread = bounded(thread, MAX_TEXT);
        label = bounded(label, MAX_TEXT);
        // No name of a lock is changed by that: it would not be found any more.
        held = held.isEmpty()
                ? List.of()
                : held.stream()
                        .limit(MAX_HELD)
                        .map(name -> bounded(name, LockName.MAX_BYTES))
                        .toList();
    }

    /** An owner with a client id only. */
    public static OwnerInfo of(String client) {
        return new OwnerInfo(client, "", 0, "", "", List.of());
    }

    /** {@code client@host pid 4711 thread main "label"}, without the parts that are not known. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(client);
        if (!host.isEmpty()) {
            text.append('@').append(host);
        }
        if (pid != 0) {
            text.append(" pid ").append(pid);
        }
        if (!thread.isEmpty()) {
            text.append(" thread ").append(thread);
        }
        if (!label.isEmpty()) {
            text.append(" \"").append(label).append('"');
        }
        return text.toString();
    }

    private static String bounded(String text, int most) {
        boolean plain = text.length() <= most && !hasControl(text);
        if (plain) {
            return text;
        }
        int end = Math.min(text.length(), most);
        if (end < text.length() && Character.isHighSurrogate(text.charAt(end - 1))) {
            end--; // do not keep half of a surrogate pair
        }
        return text.substring(0, end).replaceAll("\\p{Cc}", "?");
    }

    // A loop instead of a stream, because owners are created on the hot path.
    private static boolean hasControl(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isISOControl(text.charAt(i))) {
                return true;
            }
        }
        return false;
    }
}
