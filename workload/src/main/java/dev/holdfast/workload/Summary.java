package dev.holdfast.workload;

import java.util.Locale;

/** An outcome in a line for people. */
public final class Summary {

    private Summary() {}

    /** The figures that matter for the workload. */
    public static String of(Workload workload, Outcome outcome) {
        Fields fields = outcome.fields();
        if (workload.isHeld()) {
            double seconds = fields.whole("nanos") / 1e9;
            long locks = fields.whole("locks");
            return text(
                    "%,d held, %d lost, %s, %.1f %% of a core, %,d bytes of heap each, acquired in %.1f s",
                    locks,
                    fields.whole("lost"),
                    fields.has("requests")
                            ? text("%.1f requests/s", fields.whole("requests") / seconds)
                            : "requests unknown",
                    fields.whole("cpuNanos") / 1e7 / seconds,
                    fields.whole("heapBytes") / Math.max(1, locks),
                    fields.whole("takeNanos") / 1e9);
        }
        boolean contended = workload.isContended() || !fields.has("pairs");
        Histogram times = contended ? outcome.waits() : outcome.pairs();
        String text = text(
                "%,.0f/s, %s p50 %s, p99 %s, max %s",
                outcome.perSecond(),
                contended ? "wait" : "pair",
                time(times.at(0.5)),
                time(times.at(0.99)),
                time((double) times.max()));
        if (outcome.writerWaits().count() > 0) {
            text += text(
                    ", writers p50 %s, max %s",
                    time(outcome.writerWaits().at(0.5)),
                    time((double) outcome.writerWaits().max()));
        }
        if (workload.isContended()) {
            text += ", busiest/laziest thread " + share(outcome.threadShare());
            text += fields.list("processes").size() > 1 ? ", process " + share(outcome.processShare()) : "";
        }
        if (fields.whole("cpuNanos") > 0 && outcome.operations() > 0) {
            text += text(", cpu %s, %,.0f bytes", time(outcome.cpuEach()), outcome.bytesEach());
        }
        if (Double.isFinite(outcome.requestsEach())) {
            text += text(", %.2f requests", outcome.requestsEach());
        }
        return outcome.overlaps() == 0 ? text : text + text(", %,d OVERLAPPING HOLDERS", outcome.overlaps());
    }

    private static String share(double share) {
        return Double.isFinite(share) ? text("%.2f", share) : "(some got none)";
    }

    /** A duration with three digits and a unit. */
    public static String time(double nanos) {
        if (Double.isNaN(nanos)) {
            return "-";
        } else if (nanos < 1e3) {
            return text("%.0f ns", nanos);
        } else if (nanos < 1e6) {
            return text(nanos < 1e4 ? "%.2f us" : nanos < 1e5 ? "%.1f us" : "%.0f us", nanos / 1e3);
        } else if (nanos < 1e9) {
            return text(nanos < 1e7 ? "%.2f ms" : nanos < 1e8 ? "%.1f ms" : "%.0f ms", nanos / 1e6);
        }
        return text("%.2f s", nanos / 1e9);
    }

    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
