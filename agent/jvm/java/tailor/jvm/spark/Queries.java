// The SQL executions of this JVM: when they begin and end, their operators, and which tasks work for them.
package tailor.jvm.spark;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import tailor.jvm.Native;

/** Called by Spark's classes, by the calls that SparkTransformer puts into them. No call throws. */
public final class Queries {
  private static final int MOST_UNITS = 2000, MOST_QUERIES = 1000, MOST_FOLLOWED = 50;
  private static final int LONGEST_NAME = 200, LONGEST_TEXT = 1 << 16;
  private static final String EXECUTION_ID = "spark.sql.execution.id";

  /**
   * One that runs. Its operators are objects of Spark's physical plan, each with its number in Tailor's. An executor in a process of
   * its own has no such objects: it follows the word of its leader, the driver.
   */
  private static final class Query {
    final long id;
    final IdentityHashMap<Object, Integer> operators = new IdentityHashMap<>();
    /** By source: stages whose source is not compiled yet. */
    final Map<String, int[]> waiting = new HashMap<>();
    final StageOperators stages;
    final List<LeaderWord.Operator> named = new ArrayList<>();
    final List<LeaderWord.Place> places = new ArrayList<>();
    /** What was heard from the leader last. */
    String heard;

    Query(long id) {
      this.id = id;
      stages = new StageOperators((stage, role, operators) -> {
        Native.send(id);
        Native.setRole(id, stage, role, operators);
      });
    }

    int number(Object operator) throws ReflectiveOperationException {
      Integer known = operators.get(operator);
      if (known != null) return known;
      LeaderWord.Operator name = new LeaderWord.Operator(PlanText.name(operator), PlanText.kind(operator));
      int number = Native.addOperator(id, name.name(), name.kind(), PlanText.detail(operator));
      operators.put(operator, number);
      named.add(name);
      return number;
    }

    /** A stage runs the unit, for these of the query's operators. */
    void use(Unit unit, int[] numbers) {
      int first = Native.useUnit(id, unit.number, numbers, 0);
      if (first != 0) places.add(new LeaderWord.Place(unit.key, first, numbers));
    }

    /** What the leader says only grows. A job that began before may know less of it. */
    void follow(LeaderWord leader) {
      for (int i = named.size(); i < leader.operators().size(); ++i) {
        LeaderWord.Operator each = leader.operators().get(i);
        named.add(each);
        if (Native.addOperator(id, each.name(), each.kind(), "") != named.size()) return;
      }
      for (int i = places.size(); i < leader.places().size(); ++i) {
        LeaderWord.Place each = leader.places().get(i);
        places.add(each);
        Unit unit = UNITS.get(each.source());
        if (unit != null && unit.get() != null) Native.useUnit(id, unit.number, each.operators(), each.first());
      }
    }
  }

  private static <K, V> Map<K, V> bounded(int most, Consumer<V> forgotten) {
    return new LinkedHashMap<>(16, 0.75f, true) {
      private static final long serialVersionUID = 1;

      @Override
      protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
        if (size() <= most) return false;
        forgotten.accept(eldest.getValue());
        return true;
      }
    };
  }

  private static final Object LOCK = new Object(); // guards what follows
  private static final Map<String, Unit> UNITS = bounded(MOST_UNITS, unit -> { }); // by source
  private static final ReferenceQueue<ClassLoader> GONE = new ReferenceQueue<>();
  // By the execution's number. Of one whose end is not heard the daemon is told when it is forgotten.
  private static final Map<String, Query> RUNNING = bounded(MOST_QUERIES, query -> Native.endQuery(query.id, ""));
  private static final Map<String, Query> FOLLOWED = bounded(MOST_FOLLOWED, query -> Native.endQuery(query.id, ""));
  private static final Map<Object, Boolean> LISTENED = new IdentityHashMap<>(); // contexts
  private static boolean toldProblem, toldJavac;

  /** What the calling thread runs. No query: a task of no SQL execution. */
  private static final class Task {
    final Query query;
    final int stage;
    final long execution;
    private boolean started;

    Task(Query query, int stage, long execution) {
      this.query = query;
      this.stage = stage;
      this.execution = execution;
    }

    long queryId() {
      return query == null ? 0 : query.id;
    }

    /** It has what it runs. */
    void starts() {
      if (!started && execution != 0) Native.started();
      started = true;
    }
  }

  private static final ThreadLocal<Task> TASK = new ThreadLocal<>();

  private Queries() {}

  /** Said once: a Spark of another shape is profiled without operators. */
  static void problem(String what, Throwable problem) {
    synchronized (LOCK) {
      if (toldProblem) return;
      toldProblem = true;
    }
    System.err.println("tailor: " + what + " is not as expected (" + problem + "): some operators will be missing");
  }

  /** CodeGenerator returns what it compiled: (class, statistics) of `source`. */
  public static void compiled(Object result, Object source) {
    try {
      String body = Reflect.string(source, "body");
      int[] owners = MarkerLines.owners(body);
      if (owners == null) return;
      ClassLoader loader = Reflect.call(result, "_1").getClass().getClassLoader();
      String key = Unit.key(body);
      synchronized (LOCK) {
        forgetUnloaded();
        long number = Native.unit(loader, body, owners);
        if (number == 0) return;
        Unit unit = new Unit(loader, GONE, key, number);
        UNITS.put(key, unit);
        for (Query query : RUNNING.values()) {
          int[] operators = query.waiting.remove(key);
          if (operators != null) query.use(unit, operators);
        }
        for (Query query : FOLLOWED.values()) {
          for (LeaderWord.Place each : query.places) {
            if (each.source().equals(key)) Native.useUnit(query.id, number, each.operators(), each.first());
          }
        }
      }
    } catch (Exception | LinkageError problem) {
      problem("compiled code", problem);
    }
  }

  /** Spark keeps few of the classes that it compiled. What goes with them needs no memory here any more. */
  private static void forgetUnloaded() {
    for (Reference<? extends ClassLoader> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
      // The same source may have been compiled again meanwhile.
      if (gone instanceof Unit unit && UNITS.remove(unit.key, unit)) Native.forgetUnit(unit.number);
    }
  }

  /** Its line numbers are those of a source that it has written anew. */
  public static void compiledByJavac() {
    synchronized (LOCK) {
      if (toldJavac) return;
      toldJavac = true;
    }
    System.err.println("tailor: code that Spark compiles with spark.sql.codegen.compiler=jdk has no operators: its lines are not those of"
        + " the generated source. Use the default, janino");
  }

  /** What a hook does for the query; guarded by LOCK. */
  private interface Planning {
    void of(Query query, Object context, String execution) throws ReflectiveOperationException;
  }

  /** Spark does something with an operator's plan: for the SQL execution of the calling thread, if it has one. */
  private static void plans(Object operator, String what, Planning planning) {
    try {
      Object context = Reflect.call(operator, "sparkContext");
      String execution = (String) Reflect.call(context, "getLocalProperty", EXECUTION_ID);
      if (execution == null) return;
      synchronized (LOCK) {
        planning.of(query(execution, name -> (String) Reflect.call(context, "getLocalProperty", name)), context, execution);
      }
    } catch (Exception | LinkageError problem) {
      problem(what, problem);
    }
  }

  /** The code of a stage was generated, for these operators in the order of their numbers. */
  static void generated(Object stage, String body, List<Object> operators) {
    plans(stage, "a stage", (query, context, execution) -> {
      int[] numbers = new int[operators.size()];
      for (int i = 0; i < numbers.length; ++i) numbers[i] = query.number(PlanText.source(operators.get(i)));
      String key = Unit.key(body);
      Unit unit = UNITS.get(key);
      if (unit == null || unit.get() == null) query.waiting.put(key, numbers);
      else query.use(unit, numbers);
      listen(context);
    });
  }

  /** A property of the thread, or of the task. */
  private interface Properties {
    String get(String name) throws ReflectiveOperationException;
  }

  private static Query query(String execution, Properties properties) throws ReflectiveOperationException {
    Query known = RUNNING.get(execution);
    if (known != null) return known;
    Query query = begin(execution, properties, "");
    RUNNING.put(execution, query);
    return query;
  }

  private static Query begin(String execution, Properties properties, String leader) throws ReflectiveOperationException {
    String said = properties.get("spark.job.description");
    if (said == null) said = properties.get("callSite.short");
    String text = said == null ? "" : PlanText.cut(said.strip(), LONGEST_TEXT);
    String name = "SQL execution " + execution + (text.isEmpty() ? "" : ": " + text.lines().findFirst().orElse(""));
    name = PlanText.cut(name, LONGEST_NAME);
    List<String> labels = new ArrayList<>(List.of("application", "Spark", "sql_execution", execution, "query", text));
    if (!leader.isEmpty()) labels.addAll(List.of("leader_execution", leader));
    return new Query(Native.beginQuery(name, labels.toArray(new String[0])));
  }

  /** The jobs that the calling thread starts from now on tell executors in other processes what the query is. */
  private static void announce(Object context, String execution, Query query) throws ReflectiveOperationException {
    if ((Boolean) Reflect.call(context, "isLocal")) return;
    String text = new LeaderWord(execution, Native.identity(query.id), query.named, query.places).text();
    Reflect.call(context, "setLocalProperty", LeaderWord.PROPERTY, text);
  }

  /** Of a task whose driver is in another process. */
  private static Query followed(String execution, Properties properties, String word) throws ReflectiveOperationException {
    Query query = FOLLOWED.get(execution);
    if (query != null && word.equals(query.heard)) return query;
    LeaderWord leader = LeaderWord.parse(word);
    if (query == null) {
      query = begin(execution, properties, leader.identity());
      FOLLOWED.put(execution, query);
    }
    query.follow(leader);
    query.heard = word;
    return query;
  }

  /** TaskContext.setTaskContext: the calling thread works for the task from now on. */
  public static void taskBegins(Object task) {
    try {
      if (task == null || TASK.get() != null) return;
      String execution = (String) Reflect.call(task, "getLocalProperty", EXECUTION_ID);
      int stage = (Integer) Reflect.call(task, "stageId");
      Query query = null;
      if (execution != null) {
        String word = (String) Reflect.call(task, "getLocalProperty", LeaderWord.PROPERTY);
        Properties properties = name -> (String) Reflect.call(task, "getLocalProperty", name);
        synchronized (LOCK) {
          query = LeaderWord.isOf(word, execution) ? followed(execution, properties, word) : query(execution, properties);
        }
      }
      TASK.set(new Task(query, stage, Native.enter(query == null ? 0 : query.id, stage)));
    } catch (Exception | LinkageError problem) {
      problem("a task", problem);
    }
  }

  /** TaskContext.unset. */
  public static void taskEnds() {
    Task task = TASK.get();
    if (task == null) return;
    TASK.remove();
    Native.leave(task.queryId(), task.stage, task.execution);
  }

  /** SparkPlan.execute of `operator` returns `rdd`. */
  public static void executed(Object rdd, Object operator) {
    if (rdd == null) return;
    plans(operator, "an operator's RDD", (query, context, execution) -> {
      if (!PlanText.isAround(operator))
        query.stages.executed((Integer) Reflect.call(rdd, "id"), operator.getClass().getSimpleName(), query.number(operator));
      announce(context, execution, query);
      listen(context);
    });
  }

  /** ShuffleExchangeExec.shuffleDependency of `exchange` returns `dependency`. */
  public static void shuffles(Object dependency, Object exchange) {
    plans(exchange, "an exchange",
        (query, context, execution) -> query.stages.shuffles((Integer) Reflect.call(dependency, "shuffleId"), query.number(exchange)));
  }

  /** The calling thread's task computes a part of `rdd`. */
  public static void computes(Object rdd) {
    Task task = TASK.get();
    if (task == null || task.query == null) return;
    task.starts();
    try {
      boolean reads = rdd.getClass().getSimpleName().equals("ShuffledRowRDD");
      int number = (Integer) (reads ? Reflect.call(Reflect.call(rdd, "dependency"), "shuffleId") : Reflect.call(rdd, "id"));
      synchronized (LOCK) {
        if (reads) task.query.stages.reads(task.stage, number);
        else task.query.stages.computes(task.stage, number);
      }
    } catch (Exception | LinkageError problem) {
      problem("an RDD", problem);
    }
  }

  /** It writes rows for a shuffle. */
  public static void writes(Object dependency) {
    Task task = TASK.get();
    if (task == null || task.query == null) return;
    task.starts();
    try {
      int shuffle = (Integer) Reflect.call(dependency, "shuffleId");
      synchronized (LOCK) {
        task.query.stages.writes(task.stage, shuffle);
      }
    } catch (Exception | LinkageError problem) {
      problem("a shuffle", problem);
    }
  }

  /** Hears of the ends of executions. */
  private static void listen(Object context) throws ReflectiveOperationException {
    if (LISTENED.put(context, true) != null) return;
    ClassLoader loader = context.getClass().getClassLoader();
    Class<?> type = Class.forName("org.apache.spark.scheduler.SparkListenerInterface", true, loader);
    Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {type}, (self, method, arguments) -> {
      switch (method.getName()) {
        case "onOtherEvent" -> heard(arguments[0]);
        case "hashCode" -> { return System.identityHashCode(self); }
        case "equals" -> { return self == arguments[0]; }
        case "toString" -> { return "Tailor"; }
        default -> { }
      }
      return null;
    });
    Reflect.call(context, "addSparkListener", listener);
  }

  private static void heard(Object event) {
    if (!event.getClass().getName().endsWith(".SparkListenerSQLExecutionEnd")) return;
    try {
      String execution = Reflect.string(event, "executionId");
      Object error = Reflect.call(event, "errorMessage");
      String problem = (Boolean) Reflect.call(error, "isDefined") ? PlanText.cut(Reflect.string(error, "get"), LONGEST_TEXT) : "";
      synchronized (LOCK) {
        Query query = RUNNING.remove(execution);
        if (query == null) return;
        try {
          Object work = Reflect.call(event, "qe");
          if (work != null) addTree(query, Reflect.call(work, "executedPlan"));
        } finally {
          Native.send(query.id);
          Native.endQuery(query.id, problem);
        }
      }
    } catch (Exception | LinkageError problem) {
      problem("the end of an execution", problem);
    }
  }

  /** The final plan: operators that generated no code, and who consumes whom. Returns the root's number. */
  private static int addTree(Query query, Object node) throws ReflectiveOperationException {
    Object plan = PlanText.behind(node);
    int number = query.number(plan);
    PlanText.rows(plan).ifPresent(rows -> Native.setNumber(query.id, number, "rows", rows));
    List<Integer> inputs = new ArrayList<>();
    for (Object child : Reflect.list(Reflect.call(plan, "children"))) inputs.add(addTree(query, child));
    for (Object subquery : Reflect.list(Reflect.call(plan, "subqueries"))) inputs.add(addTree(query, subquery));
    for (int input : inputs) Native.addInput(query.id, number, input);
    return number;
  }
}
