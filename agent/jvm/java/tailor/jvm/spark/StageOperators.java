// Operators without generated code: which of them the tasks of a stage run.
package tailor.jvm.spark;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * An operator is known by the RDD that SparkPlan.execute returned, an exchange by the number of its shuffle. Tasks have copies of
 * RDDs with the same numbers. The code of an operator is told by its class, so for each stage the agent is told which operators of
 * a class its tasks run: its role, see agent/jvm/roles.h. Callers take turns.
 */
final class StageOperators {
  private static final int MOST = 20_000;
  private static final String WRITE = "shuffle write", READ = "shuffle read";

  /** Where the role's code works for one of these operators; for its callers if there is none. */
  interface Told {
    void role(int stage, String role, int[] operators);
  }

  private record Operator(String role, int number) {}

  /** Roles of a stage, each with its operators. */
  private static final class Stage {
    final Map<String, Set<Integer>> roles = new HashMap<>();
    final Set<Integer> reads = new TreeSet<>();
  }

  private static <K, V> Map<K, V> bounded() {
    return new LinkedHashMap<>() {
      private static final long serialVersionUID = 1;

      @Override
      protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
        return size() > MOST;
      }
    };
  }

  private final Map<Integer, Operator> byRdd = bounded();
  private final Map<Integer, Integer> byShuffle = bounded();
  private final Map<Integer, Stage> stages = new HashMap<>();
  private final Told told;

  StageOperators(Told told) {
    this.told = told;
  }

  /** SparkPlan.execute of that operator, of that class, gave the RDD. */
  void executed(int rdd, String type, int number) {
    byRdd.putIfAbsent(rdd, new Operator(type, number));
  }

  /** The exchange has a shuffle. */
  void shuffles(int shuffle, int exchange) {
    byShuffle.put(shuffle, exchange);
  }

  /** A task of the stage computes a part of the RDD. */
  void computes(int stage, int rdd) {
    Operator operator = byRdd.get(rdd);
    if (operator == null) return;
    Stage known = stages.computeIfAbsent(stage, number -> new Stage());
    if (!known.roles.computeIfAbsent(operator.role, role -> new TreeSet<>()).add(operator.number)) return;
    tell(stage, operator.role, known.roles.get(operator.role));
    tellReads(stage, known);
  }

  void writes(int stage, int shuffle) {
    Integer exchange = byShuffle.get(shuffle);
    if (exchange == null) return;
    Stage known = stages.computeIfAbsent(stage, number -> new Stage());
    if (known.roles.computeIfAbsent(WRITE, role -> new TreeSet<>()).add(exchange)) tell(stage, WRITE, known.roles.get(WRITE));
  }

  void reads(int stage, int shuffle) {
    Integer exchange = byShuffle.get(shuffle);
    if (exchange == null) return;
    Stage known = stages.computeIfAbsent(stage, number -> new Stage());
    if (known.reads.add(exchange)) tellReads(stage, known);
  }

  /** Generated code reads an exchange on lines of its own; only where an operator without code reads, the stage must tell. */
  private void tellReads(int stage, Stage known) {
    if (known.reads.isEmpty()) return;
    boolean others = known.roles.keySet().stream().anyMatch(role -> !role.equals(WRITE));
    tell(stage, READ, others || known.reads.size() == 1 ? known.reads : Set.of());
  }

  private void tell(int stage, String role, Collection<Integer> operators) {
    told.role(stage, role, operators.stream().mapToInt(Integer::intValue).toArray());
  }
}
