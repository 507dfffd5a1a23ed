package dev.holdfast.buildrules;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The source files that rules read, and those that their own tests write. */
final class SourceFiles {

    private static final Pattern COMMENT = Pattern.compile("//[^\\n]*|/\\*.*?\\*/", Pattern.DOTALL);

    private SourceFiles() {}

    /**
     * The Java files in a folder and below it; none if it does not exist. What is built is left out: other modules may be writing
     * and deleting there.
     */
    static List<Path> java(Path folder) {
        List<Path> found = new ArrayList<>();
        if (!Files.isDirectory(folder)) {
            return found;
        }
        try {
            Files.walkFileTree(folder, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult preVisitDirectory(Path inside, BasicFileAttributes attributes) {
                    String name = inside.getFileName().toString();
                    boolean isBuilt = name.equals("target") || name.equals(".git");
                    return isBuilt && !inside.equals(folder) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    if (file.toString().endsWith(".java")) {
                        found.add(file);
                    }
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return found;
    }

    /** What stands in a file without its comments. */
    static String code(Path file) {
        return COMMENT.matcher(read(file)).replaceAll(" ");
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void write(Path root, String name, String code) {
        try {
            Path file = root.resolve(name);
            Files.createDirectories(file.getParent());
            Files.writeString(file, code);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
