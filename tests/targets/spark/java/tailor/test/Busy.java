// The cost that the benchmark of accuracy injects into one operator of a query.
package tailor.test;

import org.apache.spark.sql.api.java.UDF1;

/** A function of SQL that gives what it gets, after as many divisions as the property tailor.busy says. */
public final class Busy implements UDF1<Long, Long> {
  private static final long serialVersionUID = 1;
  private static final int TURNS = Integer.getInteger("tailor.busy", 0);

  @Override
  public Long call(Long given) {
    double value = given;
    for (int i = 0; i < TURNS; ++i) value = (value + 1.5) / 1.1;
    return value == -1.0 ? given + 1 : given; // never: numbers are not negative
  }
}
