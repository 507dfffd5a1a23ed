package dev.holdfast.spring.locked;

import dev.holdfast.LockException;
import dev.holdfast.spring.InvalidLockedMethodException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.Expression;
import org.springframework.expression.ExpressionException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.util.ObjectUtils;

/**
 * The names of one method's lock, as templates with expressions. What could make two calls use a name that they do not mean is an
 * error: a value that is missing, and an object that has no text of its own. Thread-safe.
 */
final class LockNames {

    private static final SpelExpressionParser PARSER = new SpelExpressionParser();
    private static final Set<String> ALWAYS_THERE = Set.of("root", "this");

    /** What expressions call {@code #root}. */
    record Root(Method method, @Nullable Object target) {}

    private final Method method;
    private final List<List<Expression>> templates;
    private final ParameterNameDiscoverer parameterNames;
    private final BeanFactoryResolver beans;

    /**
     * @param templates the names, with their placeholders resolved
     * @throws InvalidLockedMethodException if one is wrong, or uses a parameter that does not exist
     */
    LockNames(Method method, List<String> templates, ParameterNameDiscoverer parameterNames, BeanFactory beans) {
        this.method = method;
        this.parameterNames = parameterNames;
        this.beans = new BeanFactoryResolver(beans);
        this.templates = templates.stream().map(this::parse).toList();
    }

    /** Whether a call may have more than one name. */
    boolean isOneText() {
        return templates.size() == 1;
    }

    /**
     * The names for one call, each once, in the order of their templates.
     *
     * @throws LockException if a value is missing
     */
    List<String> of(@Nullable Object target, @Nullable Object[] arguments) {
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(new Root(method, target), method, arguments, parameterNames);
        context.setBeanResolver(beans);
        Set<String> names = new LinkedHashSet<>();
        for (List<Expression> template : templates) {
            names.addAll(expand(template, context));
        }
        return List.copyOf(names);
    }

    private List<String> expand(List<Expression> template, MethodBasedEvaluationContext context) {
        List<StringBuilder> names = List.of(new StringBuilder());
        for (Expression part : template) {
            List<String> texts = texts(part, context);
            if (texts.size() > 1 && names.size() > 1) {
                throw new LockException("The name of the lock of " + described() + " has two collections in one text: "
                        + part.getExpressionString() + ". Nothing was run; give each its own name");
            }
            List<StringBuilder> longer = new ArrayList<>();
            for (StringBuilder name : names) {
                texts.forEach(text -> longer.add(new StringBuilder(name).append(text)));
            }
            names = longer;
        }
        return names.stream().map(StringBuilder::toString).toList();
    }

    private List<String> texts(Expression part, MethodBasedEvaluationContext context) {
        if (part instanceof LiteralExpression) {
            return List.of(part.getExpressionString());
        }
        Object value;
        try {
            value = part.getValue(context);
        } catch (ExpressionException e) {
            throw new LockException(
                    "The name of the lock of " + described() + " cannot be computed: #{" + part.getExpressionString()
                            + "} fails, " + e.getMessage() + ". Nothing was run",
                    e);
        }
        if (value instanceof Collection<?> several) {
            return elements(part, several);
        }
        if (value != null && value.getClass().isArray()) {
            return elements(part, Arrays.asList(ObjectUtils.toObjectArray(value)));
        }
        return List.of(text(part, value));
    }

    private List<String> elements(Expression part, Collection<?> several) {
        if (several.isEmpty()) {
            throw missing(part, "an empty collection");
        }
        return several.stream().map(element -> text(part, element)).toList();
    }

    private String text(Expression part, @Nullable Object value) {
        Object present = value instanceof Optional<?> optional ? optional.orElse(null) : value;
        if (present == null) {
            throw missing(part, value == null ? "null" : "empty");
        }
        String text = present.toString();
        if (text.equals(textOfAnyObject(present))) {
            throw missing(
                    part,
                    "an object of " + present.getClass().getName() + ", which has no text of its own (no toString())");
        }
        if (text.isBlank()) {
            throw missing(part, "blank");
        }
        return text;
    }

    // The text of Object.toString() differs between two objects that are equal, so that nobody would be
    // excluded. It is compared and not looked for in the class, whose methods a native image may not know.
    private static String textOfAnyObject(Object object) {
        return object.getClass().getName() + "@" + Integer.toHexString(object.hashCode());
    }

    private LockException missing(Expression part, String what) {
        return new LockException("The lock of " + described() + " has no name: #{" + part.getExpressionString()
                + "} is " + what + ". Nothing was run");
    }

    private List<Expression> parse(String template) {
        if (template.isBlank()) {
            throw new InvalidLockedMethodException("@Locked on " + described() + " has an empty name", "Give it one");
        }
        Expression parsed;
        try {
            parsed = PARSER.parseExpression(template, ParserContext.TEMPLATE_EXPRESSION);
        } catch (ExpressionException e) {
            throw new InvalidLockedMethodException(
                    "The name \"" + template + "\" of @Locked on " + described() + " cannot be read: " + e.getMessage(),
                    "An expression is written #{..}, and a parameter #name inside of it");
        }
        List<Expression> parts = parsed instanceof CompositeStringExpression several
                ? List.of(several.getExpressions())
                : List.of(parsed);
        for (Expression part : parts) {
            if (part instanceof SpelExpression spel) {
                checkParameters(spel.getAST(), template);
            } else if (part.getExpressionString().matches(".*#[A-Za-z_]\\w*.*")) {
                throw new InvalidLockedMethodException(
                        "The name \"" + template + "\" of @Locked on " + described()
                                + " has a # outside of an expression, so that all calls would have one lock",
                        "Write #{#id} for the value of the parameter id");
            }
        }
        return parts;
    }

    private void checkParameters(SpelNode node, String template) {
        if (node instanceof VariableReference variable) {
            String name = variable.toStringAST().substring(1);
            String[] known = parameterNames.getParameterNames(method);
            boolean byNumber =
                    name.matches("[pa]\\d+") && Integer.parseInt(name.substring(1)) < method.getParameterCount();
            if (!byNumber && !ALWAYS_THERE.contains(name)) {
                if (known == null) {
                    throw new InvalidLockedMethodException(
                            "The name \"" + template + "\" of @Locked on " + described() + " uses #" + name
                                    + ", but the names of its parameters are not known",
                            "Compile with -parameters, or write #p0 for the first one");
                }
                if (!Arrays.asList(known).contains(name)) {
                    throw new InvalidLockedMethodException(
                            "The name \"" + template + "\" of @Locked on " + described() + " uses #" + name
                                    + ", which is none of its parameters " + Arrays.toString(known),
                            "Name one of them");
                }
            }
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            checkParameters(node.getChild(i), template);
        }
    }

    private String described() {
        return LockedMethod.described(method);
    }
}
