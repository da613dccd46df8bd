// The twins that must be found wrong, by -Dtailor.twin: "statement" adds a statement where an operator's text begins, "shift"
// says that each line is the next operator's.
package tailor.jvm.spark;

import java.util.Arrays;

final class MarkerLines {
  private static final String BEGIN = "// tailor: operator ";
  private static final String TWIN = System.getProperty("tailor.twin", "");
  private static int statements;

  private MarkerLines() {}

  static synchronized String around(String text, int number) {
    if (text == null || text.isEmpty()) return text;
    // A body of a class may have no statement, but it may have a field.
    String added = TWIN.equals("statement") ? "int tailorTwin" + statements++ + " = " + number + ";\n" : "";
    return "\n" + BEGIN + number + "\n" + added + text + "\n// tailor: end " + number + "\n";
  }

  static int[] owners(String source) {
    if (!source.contains(BEGIN)) return null;
    String[] lines = source.split("\n", -1);
    int[] owners = new int[lines.length];
    int[] active = new int[lines.length];
    int depth = 0;
    for (int i = 0; i < lines.length; ++i) {
      String line = lines[i].strip();
      if (line.startsWith(BEGIN)) active[depth++] = Integer.parseInt(line.substring(BEGIN.length()));
      else if (line.startsWith("// tailor: end ")) --depth;
      else if (depth > 0) owners[i] = active[depth - 1];
    }
    if (!TWIN.equals("shift")) return owners;
    int most = Arrays.stream(owners).max().orElse(1);
    return Arrays.stream(owners).map(owner -> owner == 0 ? 0 : owner % most + 1).toArray();
  }
}
