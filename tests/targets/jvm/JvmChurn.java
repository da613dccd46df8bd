// Classes that come and go: each generation has a loader of its own, two classes made at run time, and work in known parts.
//
// java JvmChurn SECONDS: prints what was measured, and what the agent kept in the middle and at the end.
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

public class JvmChurn {
  static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

  /** Two classes of the same loop; one of them is called three times as often. */
  public static class Odd implements LongUnaryOperator {
    public long applyAsLong(long x) {
      for (int i = 0; i < 20_000; ++i) x = x * 0x5851F42D4C957F2DL ^ (x >>> 29);
      return x;
    }
  }

  public static class Even implements LongUnaryOperator {
    public long applyAsLong(long x) {
      for (int i = 0; i < 20_000; ++i) x = x * 0x14057B7EF767814FL ^ (x >>> 31);
      return x;
    }
  }

  /** Defines both anew. */
  static class Generation extends ClassLoader {
    Generation() {
      super(JvmChurn.class.getClassLoader());
    }

    LongUnaryOperator make(Class<?> of) throws Exception {
      String file = of.getName() + ".class";
      try (InputStream in = JvmChurn.class.getResourceAsStream("/" + file)) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        in.transferTo(bytes);
        Class<?> made = defineClass(of.getName(), bytes.toByteArray(), 0, bytes.size());
        return (LongUnaryOperator) made.getDeclaredConstructor().newInstance();
      }
    }
  }

  static String kept() throws Exception {
    Method counts = Class.forName("tailor.jvm.Agent").getMethod("counts");
    return Arrays.toString((long[]) counts.invoke(null));
  }

  public static void main(String[] arguments) throws Exception {
    long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
    long middle = (System.nanoTime() + end) / 2;
    long odd = 0, even = 0, reading = 0, firstOdd = 0, firstEven = 0, x = 1, generations = 0;
    String keptThen = null;
    while (System.nanoTime() < end) {
      Generation generation = new Generation();
      LongUnaryOperator first = generation.make(Odd.class), second = generation.make(Even.class);
      // The first calls of a method also link it and begin in the interpreter, with -Xcomp as well.
      long start = CLOCK.getCurrentThreadCpuTime();
      for (int i = 0; i < 10; ++i) x = first.applyAsLong(x);
      long linked = CLOCK.getCurrentThreadCpuTime();
      for (int i = 0; i < 10; ++i) x = second.applyAsLong(x);
      firstOdd += linked - start;
      firstEven += CLOCK.getCurrentThreadCpuTime() - linked;
      for (int i = 0; i < 300; ++i) {
        // Each difference of two readings holds what one reading takes. With nothing between them it is that alone.
        long empty = CLOCK.getCurrentThreadCpuTime();
        long before = CLOCK.getCurrentThreadCpuTime();
        for (int j = 0; j < 3; ++j) x = first.applyAsLong(x);
        long between = CLOCK.getCurrentThreadCpuTime();
        x = second.applyAsLong(x);
        long after = CLOCK.getCurrentThreadCpuTime();
        reading += before - empty;
        odd += between - before;
        even += after - between;
      }
      ++generations;
      // Code goes with its classes, and they with a collection.
      if (generations % 20 == 0) System.gc();
      if (keptThen == null && System.nanoTime() > middle) keptThen = kept();
    }
    System.out.println("{\"odd\": " + odd + ", \"even\": " + even + ", \"reading\": " + reading + ", \"firstOdd\": " + firstOdd
        + ", \"firstEven\": " + firstEven + ", \"generations\": " + generations + ", \"then\": " + keptThen
        + ", \"now\": " + kept() + ", \"x\": " + x + "}");
  }
}
