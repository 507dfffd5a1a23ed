package dev.holdfast.memcached;

import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.nio.charset.StandardCharsets;
import java.util.function.Predicate;

/**
 * Stands between a client and a server, and reads the commands of the text protocol. It loses the next command that is
 * chosen, or its answers, together with the connection; or it keeps the answers back until a command has come.
 */
final class LossyProxy implements AutoCloseable {

    /** What is lost with the connection. */
    enum Loss {
        /** The command: the server never sees it. */
        REQUEST,
        /** Its answer: the server has executed the command. */
        ANSWER
    }

    private final FaultProxy proxy;
    private final StringBuilder seen = new StringBuilder();
    private Loss loss = Loss.REQUEST;
    private Predicate<String> chosen = command -> false;
    private String awaited = "";

    LossyProxy(int target) {
        proxy = new FaultProxy(target);
        proxy.judge((way, isFirst, message) -> way == Way.TO_SERVER ? request(message) : Fate.pass(message));
    }

    String url() {
        return "memcached://" + proxy.address();
    }

    /** Loses the next chunk of requests in which there is a command that begins so. */
    synchronized void lose(Loss what, String command) {
        loss = what;
        chosen = text -> ("\n" + text).contains("\n" + command + " ");
    }

    /** Keeps all answers back until a command that begins so has come. */
    synchronized void answerAfter(String command) {
        seen.setLength(0);
        awaited = command;
        proxy.silence(Way.TO_CLIENT);
    }

    /** The first words of the commands since the last call of this method or of {@link #answerAfter}. */
    synchronized String commands() {
        String commands = seen.toString()
                .lines()
                .filter(line -> line.matches("(add|cas|gets|stats|set|delete|touch) ?.*"))
                .map(line -> line.replaceAll(" .*", ""))
                .reduce("", (all, next) -> all.isEmpty() ? next : all + " " + next);
        seen.setLength(0);
        return commands;
    }

    private synchronized Fate request(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        seen.append(text);
        if (seen.indexOf(awaited) >= 0) {
            proxy.heal();
        }
        if (!chosen.test(text)) {
            return Fate.pass(bytes);
        }
        chosen = command -> false;
        return loss == Loss.REQUEST ? Fate.lose() : Fate.loseReply(bytes);
    }

    @Override
    public void close() {
        proxy.close();
    }
}
