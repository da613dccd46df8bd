// Works for a while, then attaches the agent to itself, as another process would, and works on.
//
// java JvmAttached JAR ROUNDS
import com.sun.tools.attach.VirtualMachine;

public class JvmAttached {
  public static void main(String[] arguments) throws Exception {
    JvmShares.RESULT.addAndGet(JvmShares.run(500));
    VirtualMachine self = VirtualMachine.attach(Long.toString(ProcessHandle.current().pid()));
    self.loadAgent(arguments[0]);
    self.detach();
    JvmShares.main(new String[] {arguments[1]});
  }
}
