// The native half of the agent (agent/jvm/jvm_agent.cc).
package tailor.jvm;

final class Native {
  private Native() {}

  /** Null, or why the program runs without a profile. */
  static native String start(String name, String version, String command, boolean late);

  /** Waits at most so long until what was said lies in the daemon's socket. */
  static native void stop(int timeoutMs);

  /** Loads, unloads, dropped, live code objects, live dictionaries; messages queued, sent, dropped. */
  static native long[] counts();
}
