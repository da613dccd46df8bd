// At build time: writes classes with org.objectweb.asm under another name, so that the agent's copy of ASM meets no other one.
//
// java -cp asm-all.jar Relocate.java ASM_JAR CLASSES OUT: ASM's own classes and those below CLASSES.
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;

public class Relocate {
  static final String FROM = "org/objectweb/asm/", TO = "tailor/jvm/asm/";

  static void write(InputStream in, Path out) throws IOException {
    ClassWriter writer = new ClassWriter(0);
    ClassReader reader = new ClassReader(in);
    reader.accept(new ClassRemapper(writer, new Remapper() {
      @Override
      public String map(String name) {
        return name.startsWith(FROM) ? TO + name.substring(FROM.length()) : name;
      }
    }), 0);
    String name = reader.getClassName();
    Path file = out.resolve((name.startsWith(FROM) ? TO + name.substring(FROM.length()) : name) + ".class");
    Files.createDirectories(file.getParent());
    Files.write(file, writer.toByteArray());
  }

  public static void main(String[] arguments) throws IOException {
    Path classes = Path.of(arguments[1]), out = Path.of(arguments[2]);
    try (JarFile asm = new JarFile(arguments[0])) {
      for (JarEntry entry : (Iterable<JarEntry>) asm.stream()::iterator) {
        if (!entry.getName().startsWith(FROM) || !entry.getName().endsWith(".class")) continue;
        try (InputStream in = asm.getInputStream(entry)) {
          write(in, out);
        }
      }
    }
    List<Path> own;
    try (Stream<Path> all = Files.walk(classes)) {
      own = all.filter(each -> each.toString().endsWith(".class")).toList();
    }
    for (Path each : own) {
      try (InputStream in = Files.newInputStream(each)) {
        write(in, out);
      }
    }
  }
}
