// Classes and methods whose names are what a class file can hold: control characters, markup, unpaired surrogates, much text.
//
// java JvmHostile SECONDS
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

public class JvmHostile {
  /** Its names are replaced, in its file, by others of as many bytes. */
  public static class Placeholder_0123456789 implements LongUnaryOperator {
    static long method_0123456789(long x) {
      for (int i = 0; i < 50_000; ++i) x = x * 0x5851F42D4C957F2DL ^ (x >>> 29);
      return x;
    }

    public long applyAsLong(long x) {
      return method_0123456789(x);
    }
  }

  static final byte[][] NAMES = {
      bytes("\n\r\t\u001b[2J\u001b]0;x\u0007 <>"), bytes("<script>x()<!--  "), new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80, (byte) 0xC0, (byte) 0x80},
      bytes("'\"`$(id)${x}%s%n"), bytes("{\"a\": [1,2]}, \\u0"),
  };

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The name, with what the JVM forbids in names taken out, in as many bytes as `like` has. */
  static byte[] fitting(byte[] name, int length) {
    byte[] out = new byte[length];
    Arrays.fill(out, (byte) '_');
    for (int i = 0; i < Math.min(name.length, length); ++i) {
      out[i] = ".;[/<>:".indexOf(name[i]) >= 0 && name[i] > 0 ? (byte) '|' : name[i];
    }
    return out;
  }

  static void replace(byte[] file, String what, byte[] by) {
    byte[] from = bytes(what);
    for (int i = 0; i + from.length <= file.length; ++i) {
      if (Arrays.equals(file, i, i + from.length, from, 0, from.length)) System.arraycopy(by, 0, file, i, by.length);
    }
  }

  static class Loader extends ClassLoader {
    LongUnaryOperator make(byte[] name) throws Exception {
      try (InputStream in = JvmHostile.class.getResourceAsStream("/JvmHostile$Placeholder_0123456789.class")) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        in.transferTo(out);
        byte[] file = out.toByteArray();
        replace(file, "Placeholder_0123456789", fitting(name, "Placeholder_0123456789".length()));
        replace(file, "method_0123456789", fitting(name, "method_0123456789".length()));
        return (LongUnaryOperator) defineClass(null, file, 0, file.length).getDeclaredConstructor().newInstance();
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    LongUnaryOperator[] all = new LongUnaryOperator[NAMES.length];
    for (int i = 0; i < all.length; ++i) all[i] = new Loader().make(NAMES[i]);
    long x = 1, end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
    while (System.nanoTime() < end) {
      for (LongUnaryOperator each : all) x = each.applyAsLong(x);
    }
    System.out.println(x);
  }
}
