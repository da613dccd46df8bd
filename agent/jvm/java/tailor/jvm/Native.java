// The native half of the agent (agent/jvm/jvm_agent.cc, spark_calls.cc).
package tailor.jvm;

/** Nothing here throws or blocks, but stop(). Queries and units are numbers; 0 is none, and accepted everywhere. */
public final class Native {
  private Native() {}

  /** Null, or why the program runs without a profile. */
  static native String start(String name, String version, String command, boolean late, boolean spark);

  /** Waits at most so long until what was said lies in the daemon's socket. */
  static native void stop(int timeoutMs);

  /** Loads, unloads, dropped, live code objects, live dictionaries; messages queued, sent, dropped. */
  static native long[] counts();

  /** A generated class was compiled: the loader of its code, its source, and the operator that made each line, 0: none. */
  public static native long unit(ClassLoader loader, String source, int[] owners);

  /** The classes of the unit are unloaded. The same source gives another unit from now on. */
  public static native void forgetUnit(long unit);

  /** A SQL execution begins. Labels are key, value, key, value ... */
  public static native long beginQuery(String name, String[] labels);

  public static native int addOperator(long query, String name, String kind, String detail);

  public static native void addInput(long query, int of, int input);

  public static native void setNumber(long query, int of, String key, double value);

  /** Tells of what was added. */
  public static native void send(long query);

  /**
   * A stage of the query runs this unit, whose operators are these. Its first line is component `first` of the lowest level; 0: the
   * next one that is free. Returns its number; 0: it has no place there.
   */
  public static native int useUnit(long query, long unit, int[] operators, int first);

  /** Of the query's execution: 32 hexadecimal digits. Empty if it is over. */
  public static native String identity(long query);

  /** An empty error: it succeeded. */
  public static native void endQuery(long query, String error);

  /** In tasks of the stage, code of the role (agent/jvm/roles.h) works for one of these operators; for its callers if there is none. */
  public static native void setRole(long query, int stage, String role, int[] operators);

  /** The calling thread runs a task of a stage, for the query or for none, until leave(). Returns its execution. */
  public static native long enter(long query, int stage);

  /** The task of the calling thread begins to compute. */
  public static native void started();

  public static native void leave(long query, int stage, long execution);
}
