import java.util.zip.CRC32;

/*
 * Some threads that compute and make garbage all of the time, and many that wait; checks its sums at the end of stdin.
 * Arguments: busy threads, waiting threads.
 */
public class Busy {
	static volatile boolean over;
	static final Object lock = new Object();

	static long round(int seed) {
		byte[] garbage = new byte[1000 + seed % 5000];
		for (int i = 0; i < garbage.length; i++)
			garbage[i] = (byte) (seed * i);
		CRC32 crc = new CRC32();
		crc.update(garbage);
		return crc.getValue();
	}

	public static void main(String[] args) throws Exception {
		Thread[] busy = new Thread[Integer.parseInt(args[0])];
		boolean[] wrong = new boolean[busy.length];
		long first = round(42);
		for (int i = 0; i < busy.length; i++) {
			int own = i;
			busy[i] = new Thread(() -> {
				while (!over)
					wrong[own] |= round(42) != first;
			}, "busy " + i);
			busy[i].start();
		}
		for (int i = 0; i < Integer.parseInt(args[1]); i++) {
			Thread t = new Thread(() -> {
				synchronized (lock) {
					try {
						lock.wait();
					} catch (InterruptedException e) {
						System.out.println("interrupted");
					}
				}
			}, "waits " + i);
			t.setDaemon(true);
			t.start();
		}
		System.out.println("ready " + ProcessHandle.current().pid());
		while (System.in.read() >= 0)
			;
		over = true;
		boolean well = true;
		for (int i = 0; i < busy.length; i++) {
			busy[i].join();
			well &= !wrong[i];
		}
		System.out.println(well ? "end well" : "end wrong");
	}
}
