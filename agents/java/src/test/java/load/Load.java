/*
 * Clients of an HTTP service, for the benchmark: each has a connection of its own and asks at fixed times, whether it
 * was answered late or not, so that a service that is slow is not asked less; of 0 requests per second, as soon as it is
 * answered. Reads a line for each run from stdin:
 *   PORT CLIENTS REQUESTS_PER_SECOND LEAD SECONDS PATH      `{}` in PATH is a number that changes
 * asks for LEAD seconds, says `measuring`, goes on for SECONDS, and answers with a line of what was asked after LEAD:
 * requests, failures, and latencies in microseconds: p50, p99.
 */
package load;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

public final class Load {
    /** More than a service answers here. */
    private static final int MOST_PER_SECOND = 50_000;

    private final int port;
    private final int clients;
    private final long interval;
    private final long leadNanos;
    private final long nanos;
    private final String path;
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicInteger count = new AtomicInteger();
    private final long[] latencies;

    private Load(String[] run) {
        port = Integer.parseInt(run[0]);
        clients = Integer.parseInt(run[1]);
        double perSecond = Double.parseDouble(run[2]);
        leadNanos = (long) (1e9 * Double.parseDouble(run[3]));
        nanos = (long) (1e9 * Double.parseDouble(run[4]));
        path = run[5];
        interval = perSecond > 0 ? (long) (1e9 * clients / perSecond) : 0;
        latencies = new long[(int) ((perSecond > 0 ? perSecond : MOST_PER_SECOND) * nanos / 1e9) + 2 * clients];
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        BufferedReader runs = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String run = runs.readLine(); run != null; run = runs.readLine()) {
            System.out.println(new Load(run.split(" ")).run());
        }
    }

    private String run() throws InterruptedException {
        long begin = System.nanoTime() + 10_000_000;
        long measured = begin + leadNanos;
        Thread[] threads = new Thread[clients];
        for (int client = 0; client < clients; client++) {
            long first = begin + interval * client / clients;
            threads[client] = new Thread(() -> ask(first, measured, measured + nanos));
            threads[client].start();
        }
        Thread.sleep(Math.max(0, measured - System.nanoTime()) / 1_000_000);
        System.out.println("measuring");
        for (Thread thread : threads) {
            thread.join();
        }
        long[] sorted = Arrays.copyOf(latencies, Math.min(count.get(), latencies.length));
        Arrays.sort(sorted);
        return sorted.length + " " + failures + " " + sorted[sorted.length / 2] / 1000 + " "
                + sorted[(int) (sorted.length * 0.99)] / 1000;
    }

    private void ask(long first, long measured, long end) {
        try (Socket socket = new Socket("localhost", port)) {
            socket.setTcpNoDelay(true);
            InputStream answers = new BufferedInputStream(socket.getInputStream());
            int number = 0;
            for (long due = first; due < end; due = interval > 0 ? due + interval : System.nanoTime()) {
                for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
                    Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
                }
                String asked = path.replace("{}", Integer.toString(number++ % 1000));
                socket.getOutputStream().write(("GET " + asked + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        .getBytes(StandardCharsets.US_ASCII));
                readAnswer(answers);
                if (due >= measured) {
                    latencies[count.getAndIncrement()] = System.nanoTime() - due;
                }
            }
        } catch (IOException | InterruptedException | RuntimeException cause) {
            if (failures.getAndIncrement() == 0) {
                cause.printStackTrace();
            }
        }
    }

    private static void readAnswer(InputStream answers) throws IOException {
        String status = line(answers);
        if (!status.startsWith("HTTP/1.1 200")) {
            throw new IOException(status);
        }
        int length = -1;
        for (String line = line(answers); !line.isEmpty(); line = line(answers)) {
            if (line.toLowerCase().startsWith("content-length:")) {
                length = Integer.parseInt(line.substring(15).trim());
            }
        }
        if (length < 0 || answers.readNBytes(length).length < length) {
            throw new IOException("an answer without length, or cut off");
        }
    }

    private static String line(InputStream answers) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = answers.read(); next != '\n'; next = answers.read()) {
            if (next < 0) {
                throw new IOException("end of answers");
            }
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }
}
