import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.zip.CRC32;

/* Waits for requests and does nothing else: all of its threads are blocked. The end of stdin is its own. */
public class Server {
	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		server.createContext("/", exchange -> {
			CRC32 crc = new CRC32();
			crc.update(exchange.getRequestURI().getPath().getBytes());
			byte[] answer = Long.toHexString(crc.getValue()).getBytes();
			exchange.sendResponseHeaders(200, answer.length);
			exchange.getResponseBody().write(answer);
			exchange.close();
		});
		server.start();
		System.out.println("ready " + ProcessHandle.current().pid() + " " + server.getAddress().getPort());
		while (System.in.read() >= 0)
			;
		server.stop(0);
		System.out.println("end well");
	}
}
