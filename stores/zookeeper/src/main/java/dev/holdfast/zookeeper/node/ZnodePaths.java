package dev.holdfast.zookeeper.node;

import dev.holdfast.spi.LockName;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The paths of the locks: each lock name maps one to one to a parent node below the root. What ZooKeeper or a path
 * does not allow ({@code /}, control and private characters, surrogates, the names {@code .}, {@code ..} and
 * {@code zookeeper}) is percent-encoded in UTF-8, and so is {@code %}. All other names are not changed, so that
 * they can be shared with Curator.
 */
public final class ZnodePaths {

    /** ZooKeeper has a node of this name below its own root. */
    private static final String RESERVED = "zookeeper";

    private final String root;

    /** @param root the path of the node above all locks; {@code /} for the root of ZooKeeper */
    public ZnodePaths(String root) {
        this.root = root.equals("/") ? "" : root;
    }

    /** The path of the node above all locks. */
    public String root() {
        return root.isEmpty() ? "/" : root;
    }

    /** The root and the nodes above it, from the top down; empty if the root is that of ZooKeeper. */
    public List<String> rootAndAbove() {
        List<String> paths = new ArrayList<>();
        for (int slash = root.indexOf('/', 1); slash > 0; slash = root.indexOf('/', slash + 1)) {
            paths.add(root.substring(0, slash));
        }
        if (!root.isEmpty()) {
            paths.add(root);
        }
        return paths;
    }

    /** The path of the parent node of a lock. */
    public String parent(LockName name) {
        return root + '/' + encoded(name.value());
    }

    /** The lock whose parent node has this name below the root; empty if no lock name maps to it. */
    public Optional<LockName> lockOf(String child) {
        try {
            LockName name = new LockName(decoded(child));
            return encoded(name.value()).equals(child) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException notOurs) {
            return Optional.empty();
        }
    }

    private static String encoded(String name) {
        if (name.equals(".") || name.equals("..") || name.equals(RESERVED)) {
            return '%' + Integer.toHexString(name.charAt(0)).toUpperCase(Locale.ROOT) + name.substring(1);
        }
        if (isPlain(name)) {
            return name;
        }
        StringBuilder text = new StringBuilder();
        name.codePoints().forEach(c -> {
            if (isPlain(c)) {
                text.append((char) c);
            } else {
                for (byte b : Character.toString(c).getBytes(StandardCharsets.UTF_8)) {
                    text.append(String.format("%%%02X", b));
                }
            }
        });
        return text.toString();
    }

    private static boolean isPlain(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (!isPlain(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isPlain(int c) {
        boolean control = c < ' ' || (c >= 0x7f && c < 0xa0);
        boolean surrogateOrPrivate = c >= 0xd800 && c < 0xf900;
        return c != '/' && c != '%' && !control && !surrogateOrPrivate && c < 0xfff0;
    }

    private static String decoded(String child) {
        if (child.indexOf('%') < 0) {
            return child;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < child.length(); ) {
            int c = child.codePointAt(i);
            if (c == '%') {
                if (i + 3 > child.length()) {
                    throw new IllegalArgumentException("Half an encoded byte");
                }
                bytes.write(Integer.parseInt(child.substring(i + 1, i + 3), 16));
                i += 3;
            } else {
                bytes.writeBytes(Character.toString(c).getBytes(StandardCharsets.UTF_8));
                i += Character.charCount(c);
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
