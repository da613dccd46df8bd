// The comment lines that say which operator made the text between them.
package tailor.jvm.spark;

import java.util.ArrayDeque;
import java.util.Deque;

final class MarkerLines {
  private static final String BEGIN = "// tailor: operator ", END = "// tailor: end ";

  private MarkerLines() {}

  static String around(String text, int number) {
    if (text == null || text.isEmpty()) return text;
    return "\n" + BEGIN + number + "\n" + text + "\n" + END + number + "\n";
  }

  /** The operator of each line of a source, 0: none's. NULL: it has no marks. Marks that do not pair are passed over. */
  static int[] owners(String source) {
    if (!source.contains(BEGIN)) return null;
    String[] lines = source.split("\n", -1);
    int[] owners = new int[lines.length];
    Deque<Integer> active = new ArrayDeque<>();
    for (int i = 0; i < lines.length; ++i) {
      String line = lines[i].strip();
      if (line.startsWith(BEGIN)) {
        active.push(Integer.parseInt(line.substring(BEGIN.length())));
      } else if (line.startsWith(END)) {
        int number = Integer.parseInt(line.substring(END.length()));
        if (!active.isEmpty() && active.peek() == number) active.pop();
      } else if (!active.isEmpty()) {
        owners[i] = active.peek();
      }
    }
    return owners;
  }
}
