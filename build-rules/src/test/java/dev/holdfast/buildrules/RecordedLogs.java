package dev.holdfast.buildrules;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * What is logged, by the JVM's own loggers or by those of SLF4J, which this is a provider of: the build names it in the
 * system property {@code slf4j.provider}. It records what a program logs that has set nothing: from INFO on.
 */
public final class RecordedLogs implements SLF4JServiceProvider, ILoggerFactory {

    private static final Queue<String> LOGGED = new ConcurrentLinkedQueue<>();

    private static final Handler HANDLER = new Handler() {
        @Override
        public void publish(LogRecord one) {
            LOGGED.add(new SimpleFormatter().format(one));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    private final IMarkerFactory markers = new BasicMarkerFactory();
    private final MDCAdapter contexts = new NOPMDCAdapter();

    /** Begins to record what the JVM's own loggers get, instead of writing it to the console. */
    static void begin() {
        Logger root = Logger.getLogger("");
        for (Handler console : root.getHandlers()) {
            root.removeHandler(console);
        }
        root.addHandler(HANDLER);
    }

    /** What was logged since the last call. */
    static List<String> taken() {
        List<String> taken = new ArrayList<>();
        for (String one = LOGGED.poll(); one != null; one = LOGGED.poll()) {
            taken.add(one);
        }
        return taken;
    }

    @Override
    public org.slf4j.Logger getLogger(String name) {
        return new Recorder();
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return this;
    }

    @Override
    public IMarkerFactory getMarkerFactory() {
        return markers;
    }

    @Override
    public MDCAdapter getMDCAdapter() {
        return contexts;
    }

    @Override
    public String getRequestedApiVersion() {
        return "2.0.99";
    }

    @Override
    public void initialize() {}

    private static final class Recorder extends LegacyAbstractLogger {

        private static final long serialVersionUID = 1;

        @Override
        public boolean isTraceEnabled() {
            return false;
        }

        @Override
        public boolean isDebugEnabled() {
            return false;
        }

        @Override
        public boolean isInfoEnabled() {
            return true;
        }

        @Override
        public boolean isWarnEnabled() {
            return true;
        }

        @Override
        public boolean isErrorEnabled() {
            return true;
        }

        @Override
        protected String getFullyQualifiedCallerName() {
            return Recorder.class.getName();
        }

        @Override
        protected void handleNormalizedLoggingCall(
                Level level,
                @Nullable Marker marker,
                String text,
                Object @Nullable [] arguments,
                @Nullable Throwable failure) {
            LOGGED.add(MessageFormatter.basicArrayFormat(text, arguments)
                    + (failure == null ? "" : SecretsTest.trace(failure)));
        }
    }
}
