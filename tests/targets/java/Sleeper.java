import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/*
 * Does nothing but sleep in its main thread; once the agent may be there (a line on stdin) it allocates natively: direct buffers,
 * whose bytes the machine counts itself, and deflaters. Each further line is answered; the end of stdin is its own.
 */
public class Sleeper {
	static final List<ByteBuffer> buffers = new ArrayList<>();
	static final List<Deflater> deflaters = new ArrayList<>();
	static long sum;

	static class Inner {
		static void tick() {
			sum += 7;
		}
	}

	static void tick() {
		tick(1);
	}

	static void tick(int n) {
		sum += n;
		Inner.tick();
	}

	static void never() {
		sum = -1;
	}

	static void half(int n) {
		sum += n;
	}

	static native void half();

	static long direct() {
		for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class))
			if (pool.getName().equals("direct"))
				return pool.getMemoryUsed();
		return -1;
	}

	static void allocate(int n) {
		for (int i = 0; i < n; i++) {
			buffers.add(ByteBuffer.allocateDirect(100_000 + i));
			deflaters.add(new Deflater());
		}
	}

	public static void main(String[] args) throws Exception {
		Thread main = Thread.currentThread();
		direct();
		Thread reader = new Thread(() -> {
			try {
				byte[] line = new byte[64];
				for (int n; (n = System.in.read(line)) > 0;) {
					long before = direct();
					allocate(Integer.parseInt(new String(line, 0, n).trim()));
					System.out.println("direct " + before + " " + direct());
				}
			} catch (Exception e) {
				System.out.println("failed " + e);
			}
			main.interrupt();
		}, "reader");
		reader.start();
		System.out.println("ready " + ProcessHandle.current().pid());
		try {
			for (;;) {
				Thread.sleep(50);
				tick();
			}
		} catch (InterruptedException e) {
			System.out.println("end " + (sum >= 0 && sum % 8 == 0 ? "well" : "" + sum));
		}
	}
}
