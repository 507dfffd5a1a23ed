package dev.holdfast.workload;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/** What this process has spent between two moments: processor time, and bytes allocated by threads that still live. */
final class ProcessCost {

    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final long cpuNanos = SYSTEM.getProcessCpuTime();
    private final Map<Long, Long> allocated = allocated();

    private static Map<Long, Long> allocated() {
        long[] ids = THREADS.getAllThreadIds();
        long[] bytes = THREADS.getThreadAllocatedBytes(ids);
        Map<Long, Long> allocated = new HashMap<>();
        for (int i = 0; i < ids.length; i++) {
            allocated.put(ids[i], Math.max(0, bytes[i]));
        }
        return allocated;
    }

    /** What was spent since this object was made. */
    Fields since() {
        long cpu = SYSTEM.getProcessCpuTime() - cpuNanos;
        long bytes = 0;
        for (Map.Entry<Long, Long> thread : allocated().entrySet()) {
            bytes += thread.getValue() - allocated.getOrDefault(thread.getKey(), 0L);
        }
        return new Fields().with("cpuNanos", cpu).with("allocatedBytes", bytes);
    }

    /** Heap in use after a collection. */
    static long heapBytes() {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
