// Which operator made which line of a whole-stage-generated class. Spark's own classes call this, by the calls that
// SparkTransformer puts into them.
package tailor.jvm.spark;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * While a stage's code is generated on a thread, each operator's text is put between two comment lines. Comments leave the byte
 * code as it is. An operator's number is its place in the order in which operators of the stage first produced something, so the
 * same query makes the same text, and Spark's cache of compiled code hits as before.
 *
 * No call throws: what goes wrong leaves the text as it was.
 */
public final class Markers {
  private static final int MOST_OPEN = 64; // stages whose generation failed stay open

  /** A call of produce or consume: of which object, and who owns what it returns. */
  private record Active(Object callee, Object operator) {}

  /** A stage that is being generated. */
  private static final class Open {
    final Object stage;
    final List<Object> operators = new ArrayList<>();
    final Deque<Active> active = new ArrayDeque<>();

    Open(Object stage) {
      this.stage = stage;
    }

    int number(Object operator) {
      for (int i = 0; i < operators.size(); ++i) {
        if (operators.get(i) == operator) return i + 1;
      }
      operators.add(operator);
      return operators.size();
    }
  }

  private static final ThreadLocal<Deque<Open>> OPEN = ThreadLocal.withInitial(ArrayDeque::new);

  private Markers() {}

  /** WholeStageCodegenExec.doCodeGen begins. */
  public static void stageBegins(Object stage) {
    Deque<Open> open = OPEN.get();
    if (open.size() >= MOST_OPEN) open.clear();
    open.push(new Open(stage));
  }

  /** It returns `result`, a pair of context and source. */
  public static void stageEnds(Object result, Object stage) {
    try {
      Deque<Open> open = OPEN.get();
      while (!open.isEmpty()) {
        Open last = open.pop();
        if (last.stage != stage) continue;
        Queries.generated(stage, Reflect.string(Reflect.call(result, "_2"), "body"), last.operators);
        return;
      }
    } catch (Exception | LinkageError problem) {
      Queries.problem("the code of a stage", problem);
    }
  }

  /** CodegenSupport.produce begins: the operator makes a loop over its rows. */
  public static void produce(Object operator) {
    enter(operator, operator);
  }

  /** CodegenSupport.consume begins: what the operator hands a row to, its parent, makes what is done with the row. */
  public static void consume(Object operator) {
    if (OPEN.get().isEmpty()) return;
    Object parent = null;
    try {
      parent = Reflect.call(operator, "parent");
    } catch (ReflectiveOperationException | LinkageError problem) {
      Queries.problem("an operator's parent", problem);
    }
    enter(operator, parent == null ? operator : parent);
  }

  private static void enter(Object callee, Object operator) {
    Open open = OPEN.get().peek();
    if (open == null) return;
    open.number(operator);
    open.active.push(new Active(callee, operator));
  }

  /** The call of produce or consume on `callee` returns `text`. */
  public static String leave(String text, Object callee) {
    Open open = OPEN.get().peek();
    if (open == null) return text;
    while (!open.active.isEmpty()) {
      Active last = open.active.pop();
      if (last.callee == callee) return MarkerLines.around(text, open.number(last.operator));
    }
    return text;
  }

  /** CodegenContext.addNewFunction or addInnerClass gets `text`, on behalf of the active operator. */
  public static String function(String text) {
    Open open = OPEN.get().peek();
    if (open == null || open.active.isEmpty()) return text;
    return MarkerLines.around(text, open.number(open.active.peek().operator));
  }
}
