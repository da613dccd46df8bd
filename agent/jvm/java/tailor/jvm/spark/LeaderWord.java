// What the driver tells its executors of a query.
package tailor.jvm.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Executors have a query's source and its number, but not its plan. A local property of the query's jobs, which Spark hands to each
 * task, says whose executions they work for, its operators, and which components are the lines of which source: so an executor's
 * plan has the numbers of the driver's. As text, a line each:
 *
 * execution, identity, then "o NAME TAB KIND" for each operator, "u SOURCE FIRST OPERATOR ..." for each unit of a stage.
 */
record LeaderWord(String execution, String identity, List<Operator> operators, List<Place> places) {
  static final String PROPERTY = "tailor.query";
  private static final int LONGEST = 1 << 15; // Spark sends it with each task

  /** Number i + 1 of the driver's plan. */
  record Operator(String name, String kind) {}

  /** The first line of a source is component `first` of the lowest level. The unit's operators have these numbers. */
  record Place(String source, int first, int[] operators) {}

  String text() {
    String head = execution + "\n" + identity + "\n";
    StringBuilder text = new StringBuilder(head);
    for (Operator each : operators) text.append("o ").append(plain(each.name)).append('\t').append(plain(each.kind)).append('\n');
    for (Place each : places) {
      text.append("u ").append(each.source).append(' ').append(each.first);
      for (int operator : each.operators) text.append(' ').append(operator);
      text.append('\n');
    }
    return text.length() <= LONGEST ? text.toString() : head;
  }

  private static String plain(String text) {
    return text.replaceAll("\\p{Cntrl}", " ");
  }

  /** Whether the text is about the execution. */
  static boolean isOf(String text, String execution) {
    return text != null && text.startsWith(execution + "\n");
  }

  /** Throws RuntimeException where no agent has written the text. */
  static LeaderWord parse(String text) {
    String[] lines = text.split("\n");
    List<Operator> operators = new ArrayList<>();
    List<Place> places = new ArrayList<>();
    for (String line : Arrays.asList(lines).subList(2, lines.length)) {
      String rest = line.substring(2);
      if (line.startsWith("o ")) {
        operators.add(new Operator(rest.substring(0, rest.indexOf('\t')), rest.substring(rest.indexOf('\t') + 1)));
      } else {
        String[] words = rest.split(" ");
        int[] numbers = Arrays.stream(words).skip(1).mapToInt(Integer::parseInt).toArray();
        places.add(new Place(words[0], numbers[0], Arrays.copyOfRange(numbers, 1, numbers.length)));
      }
    }
    return new LeaderWord(lines[0], lines[1], operators, places);
  }
}
