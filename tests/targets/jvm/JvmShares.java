// Work split between methods in known parts: the program measures each call with its thread's CPU clock. Both methods
// become part of one compiled one, so that only rows of its code tell them apart.
//
// java JvmShares ROUNDS [THREADS]: prints {"heavy": ns, "light": ns}.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

public class JvmShares {
  static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
  static final AtomicLong HEAVY = new AtomicLong(), LIGHT = new AtomicLong(), RESULT = new AtomicLong();

  static long heavy(long x) {
    for (int i = 0; i < 3_000; ++i) {
      x = x * 0x5851F42D4C957F2DL ^ (x >>> 29);
    }
    return x;
  }

  static long light(long x) {
    for (int i = 0; i < 1_000; ++i) {
      x = x * 0x14057B7EF767814FL ^ (x >>> 31);
    }
    return x;
  }

  static long run(long rounds) {
    long x = 1, heavy = 0, light = 0;
    for (long round = 0; round < rounds; ++round) {
      long begin = CLOCK.getCurrentThreadCpuTime();
      for (int call = 0; call < 100; ++call) x = heavy(x);
      long middle = CLOCK.getCurrentThreadCpuTime();
      for (int call = 0; call < 100; ++call) x = light(x);
      long end = CLOCK.getCurrentThreadCpuTime();
      heavy += middle - begin;
      light += end - middle;
    }
    HEAVY.addAndGet(heavy);
    LIGHT.addAndGet(light);
    return x;
  }

  // Threads that wait beside the one that works.
  static void crowd(int threads, CountDownLatch over) {
    for (int i = 1; i < threads; ++i) {
      Thread thread = new Thread(() -> {
        try {
          over.await();
        } catch (InterruptedException ignored) {
          return;
        }
      }, "waiting " + i);
      thread.setDaemon(true);
      thread.start();
    }
  }

  public static void main(String[] arguments) throws Exception {
    long rounds = Long.parseLong(arguments[0]);
    CountDownLatch over = new CountDownLatch(1);
    crowd(arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1, over);
    RESULT.addAndGet(run(rounds));
    over.countDown();
    System.out.println("{\"heavy\": " + HEAVY + ", \"light\": " + LIGHT + "}");
  }
}
