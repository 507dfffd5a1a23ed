package dev.holdfast.redis.record;

import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Converts a claim to the arguments of a script, and back. {@code record.lua} describes the fields of a record. */
public final class ClaimArguments {

    /** How many arguments describe one claim. */
    public static final int FIELDS = 6;

    private static final byte[] ONCE = {'0'};
    private static final byte[] REPEATED = {'1'};
    private static final int HEAD_PARTS = 6;

    /** How much of a text that another program wrote is shown. */
    private static final int SHOWN = 60;

    private static final int OWNER_FIELDS = 5;

    private ClaimArguments() {}

    /**
     * A claim that the server stores, with the data stored beside it. Times are on the server's clock, in
     * microseconds.
     */
    record StoredClaim(Claim claim, long counter, long since, long ends) {}

    /** Writes a claim into the arguments of a call, starting at this index. */
    public static void put(byte[][] arguments, int at, Claim claim) {
        arguments[at] = id(claim.id());
        arguments[at + 1] = ServerCall.number(claim.permits());
        arguments[at + 2] = ServerCall.number(claim.limit());
        arguments[at + 3] = ServerCall.number(millis(claim.lease()));
        arguments[at + 4] = flag(claim.repeated());
        arguments[at + 5] = owner(claim).getBytes(StandardCharsets.UTF_8);
    }

    public static byte[] flag(boolean set) {
        return set ? REPEATED : ONCE;
    }

    public static byte[] id(ClaimId id) {
        return id.toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** Rounds up, so that a lease is never shortened. */
    public static long millis(Duration duration) {
        return (duration.toNanos() + 999_999) / 1_000_000;
    }

    public static Duration micros(long micros) {
        return Duration.ofNanos(Math.multiplyExact(micros, 1_000L));
    }

    /**
     * Reads {@code ends permits counter since lease repeated\nowner}.
     *
     * @throws IllegalArgumentException if another program wrote the text
     */
    static StoredClaim grant(LockName name, int limit, byte[] id, byte[] text) {
        String value = new String(text, StandardCharsets.UTF_8);
        String[] parts = head(value);
        Claim claim = claim(name, limit, id, parts[1], parts[4], parts[5], value);
        return new StoredClaim(claim, Long.parseLong(parts[2]), Long.parseLong(parts[3]), Long.parseLong(parts[0]));
    }

    /**
     * Reads {@code ends permits since lease repeated channel\nowner}.
     *
     * @throws IllegalArgumentException if another program wrote the text
     */
    static StoredClaim waiter(LockName name, int limit, byte[] id, byte[] text) {
        String value = new String(text, StandardCharsets.UTF_8);
        String[] parts = head(value);
        Claim claim = claim(name, limit, id, parts[1], parts[3], parts[4], value);
        return new StoredClaim(claim, 0, Long.parseLong(parts[2]), Long.parseLong(parts[0]));
    }

    // What comes before the owner; grants and waiters have as many parts.
    private static String[] head(String value) {
        int end = value.indexOf('\n');
        String[] parts = end < 0 ? new String[0] : value.substring(0, end).split(" ", -1);
        if (parts.length != HEAD_PARTS) {
            throw new IllegalArgumentException(value.substring(0, Math.min(SHOWN, value.length())));
        }
        return parts;
    }

    private static Claim claim(
            LockName name, int limit, byte[] id, String permits, String lease, String repeated, String value) {
        ClaimId claimId = ClaimId.parse(new String(id, StandardCharsets.US_ASCII));
        return new Claim(
                name,
                claimId,
                Integer.parseInt(permits),
                limit,
                Duration.ofMillis(Long.parseLong(lease)),
                owner(claimId, value.substring(value.indexOf('\n') + 1)),
                repeated.equals("1"));
    }

    // The client's id is usually that of the claim; "=" then stands for it, so that it is not stored twice.
    public static String owner(Claim claim) {
        OwnerInfo owner = claim.owner();
        StringBuilder text = new StringBuilder(64);
        text.append(owner.client().equals(claim.id().client()) ? "=" : escaped("@" + owner.client()));
        text.append('\n').append(escaped(owner.host()));
        text.append('\n').append(owner.pid());
        text.append('\n').append(escaped(owner.thread()));
        text.append('\n').append(escaped(owner.label()));
        owner.held().forEach(held -> text.append('\n').append(escaped(held)));
        return text.toString();
    }

    public static OwnerInfo owner(ClaimId id, String text) {
        List<String> fields = new ArrayList<>();
        for (String field : text.split("\n", -1)) {
            fields.add(unescaped(field));
        }
        if (fields.size() < OWNER_FIELDS) {
            return OwnerInfo.of(id.client());
        }
        String client = fields.get(0).startsWith("@") ? fields.get(0).substring(1) : id.client();
        return new OwnerInfo(
                client,
                fields.get(1),
                Long.parseLong(fields.get(2)),
                fields.get(3),
                fields.get(4),
                fields.subList(OWNER_FIELDS, fields.size()));
    }

    private static String escaped(String field) {
        return field.indexOf('\\') < 0 && field.indexOf('\n') < 0
                ? field
                : field.replace("\\", "\\\\").replace("\n", "\\n");
    }

    private static String unescaped(String field) {
        if (field.indexOf('\\') < 0) {
            return field;
        }
        StringBuilder text = new StringBuilder(field.length());
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c == '\\' && i + 1 < field.length()) {
                i++;
                c = field.charAt(i) == 'n' ? '\n' : field.charAt(i);
            }
            text.append(c);
        }
        return text.toString();
    }
}
