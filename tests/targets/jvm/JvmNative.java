// Reads zeros through the JDK, whose native code keeps 8 KiB of them on its stack: more than a sample brings of it.
//
// java JvmNative ROUNDS: prints {"reads": ns}, by the clock of its thread.
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class JvmNative {
  static long sum(FileInputStream zeros, byte[] bytes, int calls) throws IOException {
    long sum = 0;
    for (int call = 0; call < calls; ++call) {
      sum += zeros.read(bytes, 0, bytes.length);
    }
    return sum;
  }

  public static void main(String[] arguments) throws Exception {
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    byte[] bytes = new byte[8192];
    try (FileInputStream zeros = new FileInputStream("/dev/zero")) {
      long begin = clock.getCurrentThreadCpuTime();
      for (long round = Long.parseLong(arguments[0]); round > 0; --round) {
        if (sum(zeros, bytes, 1000) != 1000L * bytes.length) throw new IllegalStateException("zeros ended");
      }
      System.out.println("{\"reads\": " + (clock.getCurrentThreadCpuTime() - begin) + "}");
    }
  }
}
