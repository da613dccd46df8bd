// How an operator of Spark's physical plan is shown.
package tailor.jvm.spark;

import java.util.Locale;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.regex.Pattern;

final class PlanText {
  private static final int MOST_FIELDS = 25, LONGEST = 2000;

  private static final Pattern COLUMN = Pattern.compile("[A-Za-z_]\\w*#\\d+L?");

  private PlanText() {}

  static String cut(String text, int longest) {
    return text.substring(0, Math.min(text.length(), longest));
  }

  /** "HashAggregate", "BroadcastHashJoin" ... */
  static String name(Object operator) throws ReflectiveOperationException {
    return cut(Reflect.string(operator, "nodeName"), LONGEST);
  }

  static String kind(Object operator) {
    String type = operator.getClass().getSimpleName();
    String plain = type.endsWith("Exec") ? type.substring(0, type.length() - 4) : type;
    return plain.replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
  }

  /** The columns it works on. Not its conditions: Spark prints their literals without quotes, like names. */
  static String detail(Object operator) {
    try {
      StringBuilder text = new StringBuilder();
      int fields = 0;
      for (Object each : Reflect.list(Reflect.call(operator, "references"))) {
        String column = each.toString();
        if (!COLUMN.matcher(column).matches() || ++fields > MOST_FIELDS) continue;
        text.append(text.isEmpty() ? "" : ", ").append(column);
      }
      return cut(text.toString(), LONGEST);
    } catch (ReflectiveOperationException | RuntimeException problem) {
      return "";
    }
  }

  /** Nodes that pass on what others make. */
  static boolean isAround(Object node) {
    String type = node.getClass().getSimpleName();
    return type.endsWith("QueryStageExec") || Set.of("AdaptiveSparkPlanExec", "InputAdapter", "WholeStageCodegenExec", "AQEShuffleReadExec",
        "ShuffleExchangeExec", "ReusedExchangeExec").contains(type);
  }

  /** Where the rows come from that an operator of generated code gives: an InputAdapter only passes on those of another stage. */
  static Object source(Object operator) throws ReflectiveOperationException {
    if (!operator.getClass().getSimpleName().equals("InputAdapter")) return operator;
    Object node = behind(operator);
    return node.getClass().getSimpleName().equals("AQEShuffleReadExec") ? behind(Reflect.call(node, "child")) : node;
  }

  /** The operator itself, behind what adaptive execution and code generation put around it. */
  static Object behind(Object node) throws ReflectiveOperationException {
    for (int i = 0; i < 8; ++i) {
      String type = node.getClass().getSimpleName();
      if (type.equals("AdaptiveSparkPlanExec")) node = Reflect.call(node, "executedPlan");
      else if (type.equals("InputAdapter")) node = Reflect.call(node, "child");
      else if (type.endsWith("QueryStageExec")) node = Reflect.call(node, "plan");
      else return node;
    }
    return node;
  }

  /** How many rows it gave, by its own count. */
  static OptionalDouble rows(Object operator) {
    try {
      Object metric = Reflect.call(Reflect.call(operator, "metrics"), "get", "numOutputRows");
      if (!(Boolean) Reflect.call(metric, "isDefined")) return OptionalDouble.empty();
      return OptionalDouble.of(((Number) Reflect.call(Reflect.call(metric, "get"), "value")).doubleValue());
    } catch (ReflectiveOperationException | RuntimeException problem) {
      return OptionalDouble.empty();
    }
  }
}
