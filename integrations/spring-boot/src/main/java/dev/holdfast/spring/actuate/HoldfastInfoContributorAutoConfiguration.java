package dev.holdfast.spring.actuate;

import dev.holdfast.Holdfast;
import dev.holdfast.spring.ElectionBean;
import dev.holdfast.spring.boot.HoldfastAutoConfiguration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.info.ConditionalOnEnabledInfoContributor;
import org.springframework.boot.actuate.autoconfigure.info.InfoContributorFallback;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The part {@code holdfast} of the info, if {@code management.info.holdfast.enabled} is true. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({InfoContributor.class, ConditionalOnEnabledInfoContributor.class})
@ConditionalOnEnabledInfoContributor(value = "holdfast", fallback = InfoContributorFallback.DISABLE)
@ConditionalOnSingleCandidate(Holdfast.class)
public final class HoldfastInfoContributorAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    HoldfastInfoContributor holdfastInfoContributor(Holdfast locks, ObjectProvider<ElectionBean> elections) {
        return new HoldfastInfoContributor(
                locks, () -> elections.orderedStream().toList());
    }
}
