// What stands behind -javaagent:tailor-jvm.jar=.
package tailor.jvm;

/** Options are separated by commas: "name=nightly report". */
record Options(String name) {
  private static final int LONGEST_NAME = 200;

  /** Throws IllegalArgumentException, with a sentence that says which options there are. */
  static Options parse(String text) {
    String name = "Java methods";
    for (String option : text == null || text.isEmpty() ? new String[0] : text.split(",")) {
      int equals = option.indexOf('=');
      String key = equals < 0 ? option : option.substring(0, equals);
      String value = equals < 0 ? "" : option.substring(equals + 1);
      switch (key) {
        case "name" -> name = value.substring(0, Math.min(value.length(), LONGEST_NAME));
        default -> throw new IllegalArgumentException(
            "unknown option '" + option + "' of tailor-jvm.jar: it takes name=TEXT");
      }
    }
    return new Options(name);
  }
}
