// A source that Spark compiled.
package tailor.jvm.spark;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** It lives for as long as the loader of its classes does. */
final class Unit extends WeakReference<ClassLoader> {
  final String key;
  final long number;

  /** Of what Native.unit calls `number`. It comes into the queue when the classes are gone. */
  Unit(ClassLoader loader, ReferenceQueue<ClassLoader> gone, String key, long number) {
    super(loader, gone);
    this.key = key;
    this.number = number;
  }

  /** What stands for a source, which may have tens of kilobytes. */
  static String key(String body) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(body.getBytes(StandardCharsets.UTF_16LE));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException problem) {
      throw new IllegalStateException(problem); // every Java has it
    }
  }
}
