package dev.holdfast.spring.locked;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.asm.ClassReader;
import org.springframework.asm.ClassVisitor;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.asm.SpringAsmInfo;
import org.springframework.asm.Type;
import org.springframework.util.ClassUtils;

/**
 * Finds calls of locked methods on {@code this}, which run without the lock. It reads the code of the class and of those that it
 * extends, also in lambdas and in references to methods. What it finds is certain; a call on another variable that happens to be the
 * same object is not found, nor is any call if the class file cannot be read, as in a native image.
 */
final class SelfCalls {

    private SelfCalls() {}

    /**
     * The calls in a class.
     *
     * @param type the class of a bean
     * @param locked its locked methods
     * @return one description for each method that calls, and each that it calls
     */
    static List<String> in(Class<?> type, Collection<Method> locked) {
        Map<String, Method> wanted = locked.stream()
                .collect(Collectors.toMap(
                        method -> method.getName() + Type.getMethodDescriptor(method),
                        Function.identity(),
                        (own, inherited) -> own));
        Set<String> found = new LinkedHashSet<>();
        for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
            read(each, wanted, found);
        }
        return new ArrayList<>(found);
    }

    private static void read(Class<?> type, Map<String, Method> wanted, Set<String> found) {
        ClassLoader loader = type.getClassLoader();
        if (loader == null) {
            return;
        }
        try (InputStream file = loader.getResourceAsStream(
                ClassUtils.convertClassNameToResourcePath(type.getName()) + ClassUtils.CLASS_FILE_SUFFIX)) {
            if (file != null) {
                new ClassReader(file)
                        .accept(new InClass(type, wanted, found), ClassReader.SKIP_DEBUG | ClassReader.EXPAND_FRAMES);
            }
        } catch (IOException | IllegalArgumentException unreadable) {
            // Nobody promises class files, nor that Spring can read those of the newest JDK.
        }
    }

    private static final class InClass extends ClassVisitor {

        private static final String LAMBDA = "lambda$";

        private final Class<?> type;
        private final Map<String, Method> wanted;
        private final Set<String> found;

        InClass(Class<?> type, Map<String, Method> wanted, Set<String> found) {
            super(SpringAsmInfo.ASM_VERSION);
            this.type = type;
            this.wanted = wanted;
            this.found = found;
        }

        @Override
        public @Nullable MethodVisitor visitMethod(
                int access,
                String name,
                String descriptor,
                @Nullable String signature,
                String @Nullable [] exceptions) {
            if ((access & (Opcodes.ACC_STATIC | Opcodes.ACC_BRIDGE | Opcodes.ACC_ABSTRACT)) != 0) {
                return null; // a bridge calls the method that was meant
            }
            return new CallsOnThis(Type.getInternalName(type), called -> {
                Method method = wanted.get(called);
                // A method that calls itself is under its lock already.
                if (method != null && !called.equals(name + descriptor)) {
                    found.add(ClassUtils.getShortName(type) + "." + readable(name) + " calls "
                            + LockedMethod.described(method));
                }
            });
        }

        // The compiler names the body of a lambda in pay() lambda$pay$0.
        private static String readable(String name) {
            int end = name.lastIndexOf('$');
            return name.startsWith(LAMBDA) && end > LAMBDA.length() ? name.substring(LAMBDA.length(), end) : name;
        }
    }
}
