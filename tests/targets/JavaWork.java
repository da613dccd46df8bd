// As library_work, in a JVM: interpreter, compilers, collector and compiled code.
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Random;

public class JavaWork {
  public static void main(String[] arguments) {
    Random random = new Random(7);
    long sum = 0;
    for (long round = 0; ; ++round) {
      HashMap<String, Long> map = new HashMap<>();
      ArrayList<BigInteger> numbers = new ArrayList<>();
      for (int i = 0; i < 500; ++i) {
        map.merge(Long.toHexString(random.nextLong() % 100), 1L, Long::sum);
        numbers.add(new BigInteger(256, random).multiply(BigInteger.valueOf(i)));
      }
      Collections.sort(numbers);
      sum += map.size() + numbers.get(0).bitLength() + String.format("%d %f", sum, 1.0 / round).length();
    }
  }
}
