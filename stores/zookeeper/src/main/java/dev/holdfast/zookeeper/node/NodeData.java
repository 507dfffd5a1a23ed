package dev.holdfast.zookeeper.node;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.OwnerInfo;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The data of a node, as lines of text. It informs people, and does not decide which nodes hold.
 *
 * @param lease the lease of the claim
 * @param counter the counter of the grant if it is not the zxid of the node's creation, as after a downgrade; else 0
 * @param granted whether the claim waited and was granted; the owner of the next node watches for this
 * @param owner the owner of the claim
 */
public record NodeData(Duration lease, long counter, boolean granted, OwnerInfo owner) {

    /** The first line of the data. It shows that Holdfast wrote the data, and in which format. */
    private static final String VERSION = "holdfast 1";
    /** The number of lines before the names of the held locks. */
    private static final int FIXED_LINES = 9;

    public static NodeData of(Claim claim) {
        return new NodeData(claim.lease(), 0, false, claim.owner());
    }

    public byte[] bytes() {
        StringBuilder text = new StringBuilder(160).append(VERSION).append('\n');
        text.append(lease.toNanos()).append('\n').append(counter).append('\n').append(granted ? 1 : 0);
        line(text, owner.client());
        line(text, owner.host());
        line(text, Long.toString(owner.pid()));
        line(text, owner.thread());
        line(text, owner.label());
        owner.held().forEach(name -> line(text, name));
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Parses what {@link #bytes} returned; empty if the text has another format. */
    public static Optional<NodeData> parse(String text) {
        String[] lines = text.split("\n", -1);
        if (lines.length < FIXED_LINES || !lines[0].equals(VERSION)) {
            return Optional.empty();
        }
        try {
            List<String> held = new ArrayList<>();
            for (int i = FIXED_LINES; i < lines.length; i++) {
                held.add(lines[i]);
            }
            OwnerInfo owner = new OwnerInfo(lines[4], lines[5], Long.parseLong(lines[6]), lines[7], lines[8], held);
            return Optional.of(new NodeData(
                    Claim.checkLease(Duration.ofNanos(Long.parseLong(lines[1]))),
                    Long.parseLong(lines[2]),
                    lines[3].equals("1"),
                    owner));
        } catch (IllegalArgumentException notOurs) {
            return Optional.empty();
        }
    }

    private static void line(StringBuilder text, String value) {
        text.append('\n').append(value.indexOf('\n') < 0 ? value : value.replace('\n', '?'));
    }
}
