package dev.holdfast.spring.locked;

import dev.holdfast.Holdfast;
import dev.holdfast.spring.InvalidLockedMethodException;
import dev.holdfast.spring.Locked;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Looks at all beans when they are there: a method whose annotation is wrong, or that is not intercepted, keeps the application from
 * starting, because it would run without its lock. Calls on the own object are reported. And closes the client after the beans that
 * use it.
 */
public final class LockedBeans implements SmartInitializingSingleton {

    private static final Log LOG = LogFactory.getLog(LockedBeans.class);

    private static final String REMEDY_NOT_INTERCEPTED =
            "Make the method public or package-private and not final, and call it on the bean";

    private final ConfigurableListableBeanFactory beans;
    private final LockedMethods methods;
    private final Supplier<OnSelfCall> onSelfCall;

    /**
     * @param beans the beans to look at
     * @param methods reads their annotations
     * @param onSelfCall what to do about calls on the own object, asked for when all beans are there
     */
    public LockedBeans(ConfigurableListableBeanFactory beans, LockedMethods methods, Supplier<OnSelfCall> onSelfCall) {
        this.beans = beans;
        this.methods = methods;
        this.onSelfCall = onSelfCall;
    }

    @Override
    public void afterSingletonsInstantiated() {
        List<String> locked = new ArrayList<>();
        for (String name : beans.getBeanNamesForType(Object.class, true, false)) {
            Class<?> type = typeOf(name);
            if (type != null && AnnotationUtils.isCandidateClass(type, Locked.class) && check(name, type)) {
                locked.add(name);
            }
        }
        closeLast(locked);
    }

    private @Nullable Class<?> typeOf(String name) {
        Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
        return type == null ? null : ClassUtils.getUserClass(type);
    }

    private boolean check(String name, Class<?> type) {
        List<Method> found = new ArrayList<>();
        for (Method method : ReflectionUtils.getUniqueDeclaredMethods(type)) {
            if (method.getDeclaringClass() != Object.class
                    && !method.isBridge()
                    && AnnotatedElementUtils.hasAnnotation(method, Locked.class)) {
                found.add(method);
                checkModifiers(method);
                methods.find(method, type);
                checkProxy(name, type, method);
            }
        }
        if (!found.isEmpty()) {
            reportSelfCalls(type, found);
        }
        return !found.isEmpty();
    }

    private void reportSelfCalls(Class<?> type, List<Method> locked) {
        OnSelfCall reaction = onSelfCall.get();
        if (reaction == OnSelfCall.IGNORE) {
            return;
        }
        for (String call : SelfCalls.in(type, locked)) {
            String problem = call
                    + ", which has @Locked, on its own object: such a call passes no proxy, and runs without the lock";
            String remedy = "Put one of them into another bean";
            if (reaction == OnSelfCall.FAIL) {
                throw new InvalidLockedMethodException(problem, remedy + ", or set holdfast.locked.self-calls=warn");
            }
            LOG.warn(problem + ". " + remedy + ", or set holdfast.locked.self-calls=ignore if it is meant");
        }
    }

    private static void checkModifiers(Method method) {
        int modifiers = method.getModifiers();
        String obstacle = Modifier.isPrivate(modifiers)
                ? "private"
                : Modifier.isStatic(modifiers) ? "static" : Modifier.isFinal(modifiers) ? "final" : "";
        if (!obstacle.isEmpty()) {
            throw new InvalidLockedMethodException(
                    "@Locked on " + LockedMethod.described(method) + " has no effect: the method is " + obstacle
                            + ", so calls of it cannot be intercepted",
                    REMEDY_NOT_INTERCEPTED);
        }
    }

    private void checkProxy(String name, Class<?> type, Method method) {
        boolean hasTarget = beans.containsBeanDefinition(ScopedProxyUtils.getTargetBeanName(name));
        Object bean = beans.containsSingleton(name) && !hasTarget ? beans.getSingleton(name) : null;
        if (bean == null || !type.isInstance(AopUtils.isAopProxy(bean) ? targetOf(bean) : bean)) {
            return; // not made yet, or what a factory has made
        }
        if (!(bean instanceof Advised advised)) {
            if (!AopUtils.isAopProxy(bean)) {
                throw notIntercepted(
                        name, method, "it was made before its calls could be intercepted, or without Spring's proxies");
            }
            return; // an opaque proxy
        }
        if (Arrays.stream(advised.getAdvisors()).noneMatch(LockedAdvisor.class::isInstance)) {
            throw notIntercepted(name, method, "its proxy does not know of locks");
        }
        if (AopUtils.isJdkDynamicProxy(bean) && !isInInterface(bean, method)) {
            throw new InvalidLockedMethodException(
                    "@Locked on " + LockedMethod.described(method) + " of the bean \"" + name
                            + "\" has no effect: its proxy has the methods of its interfaces only",
                    "Declare the method in an interface, or set spring.aop.proxy-target-class=true");
        }
    }

    private static Object targetOf(Object proxy) {
        Object target = AopProxyUtils.getSingletonTarget(proxy);
        return target == null ? proxy : target;
    }

    private static boolean isInInterface(Object proxy, Method method) {
        return Arrays.stream(proxy.getClass().getInterfaces())
                .anyMatch(type -> ClassUtils.hasMethod(type, method.getName(), method.getParameterTypes()));
    }

    private static InvalidLockedMethodException notIntercepted(String name, Method method, String why) {
        return new InvalidLockedMethodException(
                "@Locked on " + LockedMethod.described(method) + " of the bean \"" + name + "\" has no effect: " + why,
                "Do not inject the bean into a BeanPostProcessor, and let Spring make it");
    }

    // Whatever runs locked methods at the end, also the threads of executors, comes before the client in the order of
    // destruction.
    private void closeLast(List<String> locked) {
        List<String> users = new ArrayList<>(locked);
        users.addAll(List.of(beans.getBeanNamesForType(Executor.class, false, false)));
        for (String client : beans.getBeanNamesForType(Holdfast.class, true, false)) {
            List<String> needed = List.of(beans.getDependenciesForBean(client));
            users.stream()
                    .filter(user -> !needed.contains(user))
                    .forEach(user -> beans.registerDependentBean(client, user));
        }
    }
}
