// Calls of Spark's and Scala's methods by name: Tailor is not compiled against any version of Spark.
package tailor.jvm.spark;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

final class Reflect {
  private Reflect() {}

  /** What the public method of that name returns. */
  static Object call(Object target, String method, Object... arguments) throws ReflectiveOperationException {
    for (Method each : target.getClass().getMethods()) {
      if (!each.getName().equals(method) || each.getParameterCount() != arguments.length || !fits(each, arguments)) continue;
      each.setAccessible(true);
      try {
        return each.invoke(target, arguments);
      } catch (InvocationTargetException problem) {
        // Whatever Spark throws at itself, StackOverflowError and AssertionError too, ends this call and no task.
        if (problem.getCause() instanceof ThreadDeath death) throw death;
        throw problem;
      }
    }
    throw new NoSuchMethodException(target.getClass().getName() + "." + method);
  }

  private static boolean fits(Method method, Object[] arguments) {
    Class<?>[] types = method.getParameterTypes();
    for (int i = 0; i < arguments.length; ++i) {
      if (!types[i].isPrimitive() && arguments[i] != null && !types[i].isInstance(arguments[i])) return false;
    }
    return true;
  }

  static String string(Object target, String method) throws ReflectiveOperationException {
    Object value = call(target, method);
    return value == null ? "" : value.toString();
  }

  /** The elements of a Scala collection. */
  static List<Object> list(Object scala) throws ReflectiveOperationException {
    List<Object> out = new ArrayList<>();
    Object iterator = call(scala, "iterator");
    while ((Boolean) call(iterator, "hasNext")) out.add(call(iterator, "next"));
    return out;
  }
}
