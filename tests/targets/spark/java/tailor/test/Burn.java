// The cost that tests inject into one operator of a query.
package tailor.test;

import org.apache.spark.sql.api.java.UDF1;

/** A function of SQL that takes some tenths of a microsecond and gives a number that is not negative. */
public final class Burn implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1;
  private static final int TURNS = 60;

  /** Divisions, each of what the one before gave: HotSpot's compiler makes no other instructions of them, which it could not place. */
  @Override
  public Long call(Long seed) {
    double value = seed;
    for (int i = 0; i < TURNS; ++i) value = (value + 1.5) / 1.1;
    return (long) value;
  }
}
