// A Java agent of its own, for the tests of Spark: -javaagent:.../spark-test.jar=FOLDER writes down every class that Spark
// generated, as it was defined: FOLDER/UNIT/CLASS.class, where a unit has a class loader of its own.
package tailor.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.IdentityHashMap;
import java.util.Map;

public final class Classes implements ClassFileTransformer {
  private static final String GENERATED = "org/apache/spark/sql/catalyst/expressions/GeneratedClass";
  private final Map<ClassLoader, Integer> units = new IdentityHashMap<>();
  private final Path folder;

  private Classes(Path folder) {
    this.folder = folder;
  }

  public static void premain(String folder, Instrumentation instrumentation) {
    instrumentation.addTransformer(new Classes(Path.of(folder)));
  }

  @Override
  public synchronized byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
    if (name == null || !name.startsWith(GENERATED)) return null;
    Path unit = folder.resolve(units.computeIfAbsent(loader, any -> units.size()).toString());
    try {
      Files.createDirectories(unit);
      Files.write(unit.resolve(name.substring(name.lastIndexOf('/') + 1) + ".class"), file);
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
    return null;
  }
}
