// Loops that Janino compiles at run time, as Spark does with its generated code. Each round compiles the source again, with a loader
// of its own, and two of its methods work in known parts.
//
// java -cp janino.jar:commons-compiler.jar:... JvmJanino SOURCE ROUNDS: prints {"heavy": ns, "light": ns}.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongUnaryOperator;

public class JvmJanino {
  static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

  /** By reflection: this program is compiled without Janino. */
  static LongUnaryOperator[] compile(String source) throws Exception {
    Object compiler = Class.forName("org.codehaus.janino.SimpleCompiler").getDeclaredConstructor().newInstance();
    compiler.getClass().getMethod("cook", String.class).invoke(compiler, source);
    ClassLoader loader = (ClassLoader) compiler.getClass().getMethod("getClassLoader").invoke(compiler);
    LongUnaryOperator[] made = new LongUnaryOperator[2];
    for (int i = 0; i < 2; ++i)
      made[i] = (LongUnaryOperator) loader.loadClass(i == 0 ? "Heavy" : "Light").getDeclaredConstructor().newInstance();
    return made;
  }

  public static void main(String[] arguments) throws Exception {
    System.setProperty("org.codehaus.janino.source_debugging.enable", "true");
    String source = Files.readString(Path.of(arguments[0]));
    long heavy = 0, light = 0, x = 1;
    for (long round = Long.parseLong(arguments[1]); round > 0; --round) {
      LongUnaryOperator[] made = compile(source);
      for (int i = 0; i < 500; ++i) {
        long begin = CLOCK.getCurrentThreadCpuTime();
        for (int j = 0; j < 30; ++j) x = made[0].applyAsLong(x);
        long middle = CLOCK.getCurrentThreadCpuTime();
        for (int j = 0; j < 10; ++j) x = made[1].applyAsLong(x);
        heavy += middle - begin;
        light += CLOCK.getCurrentThreadCpuTime() - middle;
      }
    }
    System.out.println("{\"heavy\": " + heavy + ", \"light\": " + light + ", \"x\": " + x + "}");
  }
}
