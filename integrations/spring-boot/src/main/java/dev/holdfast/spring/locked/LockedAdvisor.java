package dev.holdfast.spring.locked;

import dev.holdfast.spring.Locked;
import java.lang.reflect.Method;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.annotation.AnnotationUtils;

/** Puts the interceptor around the methods that are locked. */
public final class LockedAdvisor extends DefaultPointcutAdvisor {

    private static final long serialVersionUID = 1L;

    /** @param order the lower, the further out: transactions have {@code Integer.MAX_VALUE} unless they are told otherwise */
    public LockedAdvisor(LockedInterceptor interceptor, int order) {
        super(new LockedPointcut(), interceptor);
        setOrder(order);
    }

    private static final class LockedPointcut extends StaticMethodMatcherPointcut {

        LockedPointcut() {
            setClassFilter((ClassFilter) type -> AnnotationUtils.isCandidateClass(type, Locked.class));
        }

        @Override
        public boolean matches(Method method, Class<?> target) {
            return LockedMethods.isLocked(method, target);
        }
    }
}
