package dev.holdfast.spring.actuate;

import dev.holdfast.Holdfast;
import dev.holdfast.spring.ElectionBean;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Says which store keeps the locks, and which elections this process leads. Asks nobody. Thread-safe. */
public final class HoldfastInfoContributor implements InfoContributor {

    private final Holdfast locks;
    private final Supplier<List<ElectionBean>> elections;

    /**
     * @param locks the client
     * @param elections those of the application, asked for each time
     */
    public HoldfastInfoContributor(Holdfast locks, Supplier<List<ElectionBean>> elections) {
        this.locks = locks;
        this.elections = elections;
    }

    @Override
    public void contribute(Info.Builder builder) {
        Map<String, Object> info = new LinkedHashMap<>();
        String version = Holdfast.class.getPackage().getImplementationVersion();
        if (version != null) {
            info.put("version", version);
        }
        info.put("store", locks.traits().product());
        info.put("client", locks.clientId());
        Map<String, Object> leads = new LinkedHashMap<>();
        elections.get().forEach(election -> leads.put(election.name(), election.isLeader() ? "leader" : "candidate"));
        if (!leads.isEmpty()) {
            info.put("elections", leads);
        }
        builder.withDetail("holdfast", info);
    }
}
