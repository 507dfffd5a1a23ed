package dev.holdfast.workload;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The result of one run of a workload, over all its workers. */
public final class Outcome {

    private final Fields fields;

    private Outcome(Fields fields) {
        this.fields = fields;
    }

    /** Reads what {@link #fields} returned. */
    public static Outcome of(Fields fields) {
        return new Outcome(fields);
    }

    /**
     * Puts the answers of the workers together.
     *
     * @param requests that the server counted meanwhile; negative if it does not report them
     */
    static Outcome merge(List<Fields> answers, long nanos, long requests) {
        Histogram waits = new Histogram();
        Histogram pairs = new Histogram();
        Histogram writerWaits = new Histogram();
        List<Long> counts = new ArrayList<>();
        List<Long> processes = new ArrayList<>();
        long overlaps = 0;
        long cpu = 0;
        long allocated = 0;
        for (Fields answer : answers) {
            waits.add(Histogram.of(answer.list("waits")));
            pairs.add(Histogram.of(answer.list("pairs")));
            writerWaits.add(Histogram.of(answer.list("writerWaits")));
            counts.addAll(answer.list("counts"));
            processes.add(
                    answer.list("counts").stream().mapToLong(Long::longValue).sum());
            overlaps += answer.whole("overlaps");
            cpu += answer.whole("cpuNanos");
            allocated += answer.whole("allocatedBytes");
        }
        Fields fields = new Fields()
                .with("nanos", nanos)
                .with(
                        "operations",
                        processes.stream().mapToLong(Long::longValue).sum())
                .with("overlaps", overlaps)
                .with("cpuNanos", cpu)
                .with("allocatedBytes", allocated)
                .with("threads", counts)
                .with("processes", processes)
                .with("waits", waits.toList());
        if (pairs.count() > 0) {
            fields.with("pairs", pairs.toList());
        }
        if (writerWaits.count() > 0) {
            fields.with("writerWaits", writerWaits.toList());
        }
        return new Outcome(requests < 0 ? fields : fields.with("requests", requests));
    }

    /** All figures, as a line of the raw results has them. */
    public Fields fields() {
        return fields;
    }

    public long operations() {
        return fields.whole("operations");
    }

    public double perSecond() {
        return operations() * 1e9 / fields.whole("nanos");
    }

    /** From the call of acquire to the return of release, in nanoseconds. */
    public Histogram pairs() {
        return Histogram.of(fields.list("pairs"));
    }

    /** How long acquiring took, in nanoseconds. */
    public Histogram waits() {
        return Histogram.of(fields.list("waits"));
    }

    public Histogram writerWaits() {
        return Histogram.of(fields.list("writerWaits"));
    }

    /** Processor time of the clients for each operation, in nanoseconds. */
    public double cpuEach() {
        return (double) fields.whole("cpuNanos") / operations();
    }

    public double bytesEach() {
        return (double) fields.whole("allocatedBytes") / operations();
    }

    /**
     * NaN if the server does not report its requests. These are counted until all workers have ended, so that operations count
     * here which end after the time: of 64 clients that want one lock each has one.
     */
    public double requestsEach() {
        long ended = Math.max(operations(), waits().count());
        return fields.has("requests") ? (double) fields.whole("requests") / ended : Double.NaN;
    }

    /** How often two holders at once were detected. */
    public long overlaps() {
        return fields.whole("overlaps");
    }

    /** Operations of the busiest thread, divided by those of the laziest. */
    public double threadShare() {
        return share(fields.list("threads"));
    }

    public double processShare() {
        return share(fields.list("processes"));
    }

    private static double share(List<Long> counts) {
        if (counts.size() < 2) {
            return Double.NaN;
        }
        return (double) Collections.max(counts) / Collections.min(counts);
    }
}
