// java -cp asm.jar Normal.java FOLDER: what the classes of each unit are without what is there for debuggers, one line each:
// UNIT CLASS METHODS DIGEST. Constants are numbered anew, by those that are left.
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

public class Normal {
  private static int methods;

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    List<Path> files;
    try (Stream<Path> all = Files.walk(folder)) {
      files = all.filter(each -> each.toString().endsWith(".class")).sorted().toList();
    }
    for (Path each : files) print(folder.relativize(each), Files.readAllBytes(each));
  }

  private static void print(Path file, byte[] bytes) throws Exception {
    methods = 0;
    ClassWriter writer = new ClassWriter(0);
    new ClassReader(bytes).accept(new ClassVisitor(Opcodes.ASM9, writer) {
      @Override
      public MethodVisitor visitMethod(int access, String name, String shape, String signature, String[] exceptions) {
        ++methods;
        return super.visitMethod(access, name, shape, signature, exceptions);
      }
    }, ClassReader.SKIP_DEBUG);
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(writer.toByteArray());
    System.out.println(file.getParent() + " " + file.getFileName() + " " + methods + " " + HexFormat.of().formatHex(digest));
  }
}
