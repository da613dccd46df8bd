// The Java agent: java -javaagent:tailor-jvm.jar[=options] Main, or attached to a JVM that runs.
package tailor.jvm;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import tailor.jvm.spark.SparkTransformer;

/** Begins profiling, and never fails the program: what goes wrong is said on its standard error, once. */
public final class Agent {
  private static final String LIBRARY = "/tailor/jvm/libtailor_jvm.so";
  private static final int EXIT_WAIT_MS = 500;
  private static boolean begun;
  private static volatile boolean started;

  private Agent() {}

  public static void premain(String options, Instrumentation instrumentation) {
    begin(options, instrumentation, false);
  }

  public static void agentmain(String options, Instrumentation instrumentation) {
    begin(options, instrumentation, true);
  }

  private static synchronized void begin(String text, Instrumentation instrumentation, boolean late) {
    if (begun) return;
    begun = true;
    try {
      Options options = Options.parse(text);
      boolean spark = ClassLoader.getSystemResource("org/apache/spark/SparkContext.class") != null;
      loadLibrary();
      String version = System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
      String problem = Native.start(options.name(), version, System.getProperty("sun.java.command", "java"), late, spark && !late);
      if (problem != null) {
        say(problem + "; the program runs without a profile");
        return;
      }
      started = true;
      if (spark) sparkBegins(instrumentation, late);
      Runtime.getRuntime().addShutdownHook(new Thread(() -> Native.stop(EXIT_WAIT_MS), "tailor-exit"));
      if (late) {
        say("attached to a running JVM: of code that was compiled before, lines are known at safepoints only and are marked"
            + " inferred. Start the program with -javaagent for exact lines");
      }
    } catch (Exception | LinkageError problem) {
      say(problem + "; the program runs without a profile");
    }
  }

  /**
   * Of compiled code: loads, unloads, loads that were dropped, live code objects, live dictionaries; then messages queued, sent,
   * dropped. All 0 where the agent has not begun.
   */
  public static long[] counts() {
    return started ? Native.counts() : new long[8];
  }

  private static void sparkBegins(Instrumentation instrumentation, boolean late) {
    if (late) {
      say("attached to a running Spark: its operators are known only where -javaagent was given at the start");
      return;
    }
    // Else Janino leaves the lines out.
    System.setProperty("org.codehaus.janino.source_debugging.enable", "true");
    instrumentation.addTransformer(new SparkTransformer());
  }

  static void say(String text) {
    System.err.println("tailor: " + text);
  }

  /** The library lies in the jar; the file that it is loaded from is gone before the program runs. */
  private static void loadLibrary() throws IOException {
    try (InputStream library = Agent.class.getResourceAsStream(LIBRARY)) {
      if (library == null) throw new IOException("tailor-jvm.jar has no " + LIBRARY);
      Path file = Files.createTempFile("libtailor_jvm", ".so");
      try {
        Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
        System.load(file.toString());
      } finally {
        Files.deleteIfExists(file);
      }
    }
  }
}
