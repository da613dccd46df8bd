// Puts calls of Markers into the classes of Spark that generate and compile code.
package tailor.jvm.spark;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Only adds calls at the begin and the end of methods. A class or method of another shape stays as it is. */
public final class SparkTransformer implements ClassFileTransformer {
  private static final String CODEGEN = "org/apache/spark/sql/catalyst/expressions/codegen/";
  private static final String SUPPORT = "org/apache/spark/sql/execution/CodegenSupport";
  private static final String STAGE = "org/apache/spark/sql/execution/WholeStageCodegenExec";
  private static final String PLAN = "org/apache/spark/sql/execution/SparkPlan";
  private static final String EXCHANGE = "org/apache/spark/sql/execution/exchange/ShuffleExchangeExec";
  private static final String WRITER = "org/apache/spark/shuffle/ShuffleWriteProcessor", RDD = "org/apache/spark/rdd/RDD";
  private static final String TASK = "org/apache/spark/TaskContext$";
  private static final String MARKERS = "tailor/jvm/spark/Markers", QUERIES = "tailor/jvm/spark/Queries";
  private static final String OF_TEXT = "(Ljava/lang/String;)Ljava/lang/String;";

  @Override
  public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
    if (name == null || !isOurs(name)) return null;
    try {
      ClassReader reader = new ClassReader(file);
      ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
      Visitor visitor = new Visitor(writer, name);
      reader.accept(visitor, 0);
      return visitor.changed ? writer.toByteArray() : null;
    } catch (RuntimeException problem) {
      Queries.problem(name, problem);
      return null;
    }
  }

  private static boolean isOurs(String name) {
    return Set.of(SUPPORT, STAGE, TASK, PLAN, EXCHANGE, WRITER, RDD).contains(name)
        || name.startsWith(CODEGEN) && (name.endsWith("/CodegenContext") || isCompiler(name));
  }

  /** 3.5 compiles in CodeGenerator; 4.x has a class for each compiler. */
  private static boolean isCompiler(String name) {
    return name.endsWith("/CodeGenerator$") || name.endsWith("/JaninoCodeCompiler$") || name.endsWith("/JdkCodeCompiler$");
  }

  private static final class Visitor extends ClassVisitor {
    private final String type;
    boolean changed;

    Visitor(ClassVisitor next, String type) {
      super(Opcodes.ASM9, next);
      this.type = type;
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String shape, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, shape, signature, exceptions);
      MethodVisitor own = (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) != 0 ? null : visitor(next, name, shape);
      changed |= own != null;
      return own == null ? next : own;
    }

    private MethodVisitor visitor(MethodVisitor next, String name, String shape) {
      boolean text = shape.endsWith(")Ljava/lang/String;");
      if (type.equals(SUPPORT) && text && (name.equals("produce") || name.equals("consume"))) return new Operator(next, name);
      if (type.equals(STAGE) && name.equals("doCodeGen") && shape.equals("()Lscala/Tuple2;")) return new Stage(next);
      boolean added = name.equals("addNewFunction") && shape.equals("(Ljava/lang/String;Ljava/lang/String;Z)Ljava/lang/String;");
      if (type.endsWith("/CodegenContext") && added) return new Function(next, 2);
      if (type.endsWith("/CodegenContext") && name.equals("addInnerClass") && shape.equals("(Ljava/lang/String;)V"))
        return new Function(next, 1);
      if (type.equals(TASK) && name.equals("setTaskContext") && shape.equals("(Lorg/apache/spark/TaskContext;)V"))
        return new Begin(next, "taskBegins", 1);
      if (type.equals(TASK) && name.equals("unset") && shape.equals("()V")) return new TaskEnd(next);
      if (type.equals(PLAN) && name.equals("execute") && shape.equals("()L" + RDD + ";")) return new Result(next, "executed");
      if (type.equals(EXCHANGE) && name.equals("shuffleDependency") && shape.equals("()Lorg/apache/spark/ShuffleDependency;"))
        return new Result(next, "shuffles");
      if (type.equals(RDD) && name.equals("iterator") && shape.startsWith("(Lorg/apache/spark/Partition;")) return new Begin(next, "computes", 0);
      if (type.equals(WRITER) && name.equals("write") && shape.matches("\\([^;]*;Lorg/apache/spark/ShuffleDependency;.*"))
        return new Begin(next, "writes", 2);
      boolean compiles = name.equals(type.endsWith("/CodeGenerator$") ? "doCompile" : "compile");
      if (isCompiler(type) && compiles && shape.equals("(L" + CODEGEN + "CodeAndComment;)Lscala/Tuple2;")) {
        return new Compiler(next, type.contains("/Jdk"));
      }
      return null;
    }
  }

  private abstract static class Wrapped extends MethodVisitor {
    Wrapped(MethodVisitor next) {
      super(Opcodes.ASM9, next);
    }

    void call(String owner, String method, String shape) {
      super.visitMethodInsn(Opcodes.INVOKESTATIC, owner, method, shape, false);
    }

    void returning() {}

    @Override
    public void visitInsn(int instruction) {
      if (instruction == Opcodes.ARETURN) returning();
      super.visitInsn(instruction);
    }
  }

  private static final class Operator extends Wrapped {
    private final String hook;

    Operator(MethodVisitor next, String hook) {
      super(next);
      this.hook = hook;
    }

    @Override
    public void visitCode() {
      super.visitCode();
      visitVarInsn(Opcodes.ALOAD, 0);
      call(MARKERS, hook, "(Ljava/lang/Object;)V");
    }

    @Override
    void returning() {
      visitVarInsn(Opcodes.ALOAD, 0);
      call(MARKERS, "leave", "(Ljava/lang/String;Ljava/lang/Object;)Ljava/lang/String;");
    }
  }

  private static final class Stage extends Wrapped {
    Stage(MethodVisitor next) {
      super(next);
    }

    @Override
    public void visitCode() {
      super.visitCode();
      visitVarInsn(Opcodes.ALOAD, 0);
      call(MARKERS, "stageBegins", "(Ljava/lang/Object;)V");
    }

    @Override
    void returning() {
      super.visitInsn(Opcodes.DUP);
      visitVarInsn(Opcodes.ALOAD, 0);
      call(MARKERS, "stageEnds", "(Ljava/lang/Object;Ljava/lang/Object;)V");
    }
  }

  /** The text is the parameter of that number. */
  private static final class Function extends Wrapped {
    private final int parameter;

    Function(MethodVisitor next, int parameter) {
      super(next);
      this.parameter = parameter;
    }

    @Override
    public void visitCode() {
      super.visitCode();
      visitVarInsn(Opcodes.ALOAD, parameter);
      call(MARKERS, "function", OF_TEXT);
      visitVarInsn(Opcodes.ASTORE, parameter);
    }
  }

  /** Tells of what the method returns, and of whom. */
  private static final class Result extends Wrapped {
    private final String hook;

    Result(MethodVisitor next, String hook) {
      super(next);
      this.hook = hook;
    }

    @Override
    void returning() {
      super.visitInsn(Opcodes.DUP);
      visitVarInsn(Opcodes.ALOAD, 0);
      call(QUERIES, hook, "(Ljava/lang/Object;Ljava/lang/Object;)V");
    }
  }

  /** Tells of a parameter. */
  private static final class Begin extends Wrapped {
    private final String hook;
    private final int parameter;

    Begin(MethodVisitor next, String hook, int parameter) {
      super(next);
      this.hook = hook;
      this.parameter = parameter;
    }

    @Override
    public void visitCode() {
      super.visitCode();
      visitVarInsn(Opcodes.ALOAD, parameter);
      call(QUERIES, hook, "(Ljava/lang/Object;)V");
    }
  }

  private static final class TaskEnd extends Wrapped {
    TaskEnd(MethodVisitor next) {
      super(next);
    }

    @Override
    public void visitCode() {
      super.visitCode();
      call(QUERIES, "taskEnds", "()V");
    }
  }

  private static final class Compiler extends Wrapped {
    private final boolean javac;

    Compiler(MethodVisitor next, boolean javac) {
      super(next);
      this.javac = javac;
    }

    @Override
    void returning() {
      if (javac) {
        call(QUERIES, "compiledByJavac", "()V");
        return;
      }
      super.visitInsn(Opcodes.DUP);
      visitVarInsn(Opcodes.ALOAD, 1);
      call(QUERIES, "compiled", "(Ljava/lang/Object;Ljava/lang/Object;)V");
    }
  }
}
