package dev.holdfast.spring.boot;

import dev.holdfast.Holdfast;
import dev.holdfast.spring.locked.LockedAdvisor;
import dev.holdfast.spring.locked.LockedBeans;
import dev.holdfast.spring.locked.LockedInterceptor;
import dev.holdfast.spring.locked.LockedMethods;
import dev.holdfast.spring.locked.SpringTransactions;
import dev.holdfast.spring.locked.TransactionBoundary;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.util.function.SingletonSupplier;

/** Puts locks around the methods that have {@link dev.holdfast.spring.Locked}. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnBean(Holdfast.class)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class LockedAutoConfiguration {

    /** Proxies are made even if Boot's own support of AOP is turned off: without them no method would be locked. */
    @Bean
    static BeanFactoryPostProcessor lockedProxies() {
        return beans -> {
            if (beans instanceof BeanDefinitionRegistry registry) {
                AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
            }
        };
    }

    // Read late: a proxy may be made before the configuration can be read, and before there is a store.
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedMethods lockedMethods(
            ConfigurableListableBeanFactory beans, ObjectProvider<HoldfastProperties> properties) {
        return new LockedMethods(beans, SingletonSupplier.of(() -> {
            HoldfastProperties read = properties.getObject();
            return new LockedMethods.Defaults(read.lockOptions(), read.locked().maxWait());
        }));
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedAdvisor lockedAdvisor(
            LockedMethods methods,
            ObjectProvider<Holdfast> locks,
            ObjectProvider<TransactionBoundary> transactions,
            Environment environment) {
        LockedInterceptor interceptor = new LockedInterceptor(
                methods,
                SingletonSupplier.of(locks::getObject),
                SingletonSupplier.of(() -> transactions.getIfAvailable(() -> TransactionBoundary.NONE)));
        int order = environment.getProperty("holdfast.locked.order", Integer.class, HoldfastProperties.DEFAULT_ORDER);
        return new LockedAdvisor(interceptor, order);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedBeans lockedBeans(
            ConfigurableListableBeanFactory beans,
            LockedMethods methods,
            ObjectProvider<HoldfastProperties> properties) {
        return new LockedBeans(
                beans, methods, () -> properties.getObject().locked().selfCalls());
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(TransactionExecutionListener.class)
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static class InTransactions {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static SpringTransactions lockedTransactions() {
            return new SpringTransactions();
        }
    }
}
