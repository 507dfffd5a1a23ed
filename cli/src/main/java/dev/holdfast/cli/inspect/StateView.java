package dev.holdfast.cli.inspect;

import dev.holdfast.cli.option.DurationConverter;
import dev.holdfast.cli.output.Json;
import dev.holdfast.cli.output.Table;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.util.List;

/** A lock's holders and waiters, for people and as JSON. */
final class StateView {

    private StateView() {}

    static String text(ResourceState state) {
        StringBuilder text = new StringBuilder();
        text.append('"').append(state.name().value()).append("\": ");
        if (!state.isInUse()) {
            return text.append("nobody holds it and nobody waits")
                    .append(System.lineSeparator())
                    .toString();
        }
        text.append(Kinds.of(state))
                .append(", ")
                .append(count(state.holders(), "holder"))
                .append(", ");
        text.append(count(state.waiters(), "waiter")).append(System.lineSeparator());
        Table table = new Table();
        table.row("", "AGE", "LEFT", "TOKEN", "USE", "OWNER");
        state.holders().forEach(entry -> table.row(cells("holds", entry)));
        state.waiters().forEach(entry -> table.row(cells("waits", entry)));
        return text.append(table).toString();
    }

    private static String[] cells(String what, ResourceState.Entry entry) {
        return new String[] {
            what,
            DurationConverter.print(entry.age()),
            DurationConverter.print(entry.remaining()),
            entry.counter() == 0 ? "-" : Long.toString(entry.firstToken()),
            Kinds.use(entry.claim()).isEmpty() ? "-" : Kinds.use(entry.claim()),
            entry.claim().owner().toString()
        };
    }

    private static String count(List<?> things, String what) {
        return things.size() + " " + what + (things.size() == 1 ? "" : "s");
    }

    static void json(Json json, ResourceState state) {
        json.open('{').name("name").value(state.name().value());
        json.name("kind").value(Kinds.of(state)).name("limit").value(state.limit());
        entries(json.name("holders"), state.holders());
        entries(json.name("waiters"), state.waiters());
        json.close('}');
    }

    private static void entries(Json json, List<ResourceState.Entry> entries) {
        json.open('[');
        for (ResourceState.Entry entry : entries) {
            json.open('{').name("claim").value(entry.claim().id().toString());
            if (entry.counter() != 0) {
                // The token is text, because most readers of JSON cut numbers to 53 bits.
                json.name("token").value(Long.toString(entry.firstToken()));
            }
            json.name("permits").value(entry.claim().permits());
            json.name("ageMs").value(entry.age().toMillis());
            json.name("remainingMs").value(entry.remaining().toMillis());
            owner(json.name("owner"), entry.claim().owner());
            json.close('}');
        }
        json.close(']');
    }

    private static void owner(Json json, OwnerInfo owner) {
        json.open('{').name("client").value(owner.client());
        json.name("host").value(owner.host()).name("pid").value(owner.pid());
        json.name("thread").value(owner.thread()).name("label").value(owner.label());
        json.name("held").open('[');
        owner.held().forEach(json::value);
        json.close(']').close('}');
    }
}
