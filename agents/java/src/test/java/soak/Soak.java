/*
 * A server that is redeployed all the time: its application (soak.deployed) is loaded by a class loader of its own from a
 * jar of its own, serves requests for a moment in threads that live shortly, and is thrown away, some without closing the
 * loader. Says every second what the JVM holds, after collections, and at the end whether what was thrown away is gone.
 *   java soak.Soak JAR        which has the application; until the end of its input
 * Output: lines of `key=value`, the last with `end`.
 */
package soak;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

public final class Soak {
    /** How many are deployed at a time. */
    private static final int DEPLOYERS = 4;
    private static final long COLLECT_MILLIS = 200;
    private static final long TELL_MILLIS = 1000;

    private static volatile boolean isOver;
    private static final AtomicInteger numbers = new AtomicInteger();
    private static final AtomicInteger deployed = new AtomicInteger();
    private static final AtomicInteger collected = new AtomicInteger();
    private static final AtomicLong received = new AtomicLong();
    private static final Queue<WeakReference<ClassLoader>> thrownAway = new ConcurrentLinkedQueue<>();

    private Soak() {}

    public static void main(String[] arguments) throws Exception {
        Path jar = Path.of(arguments[0]);
        Thread[] deployers = new Thread[DEPLOYERS];
        for (int number = 0; number < DEPLOYERS; number++) {
            deployers[number] = new Thread(() -> {
                try {
                    while (!isOver) {
                        deploy(numbers.getAndIncrement(), jar);
                    }
                } catch (Throwable cause) {
                    cause.printStackTrace();
                    System.exit(1);
                }
            });
            deployers[number].start();
        }
        background(Soak::collect);
        background(() -> isOver = System.in.read() < 0);
        while (isAlive(deployers)) {
            Thread.sleep(TELL_MILLIS);
            tell("");
        }
        // The agent has a thread that may still look at the last ones.
        for (int turn = 0; turn < 100 && !thrownAway.isEmpty(); turn++) {
            Thread.sleep(COLLECT_MILLIS);
            count();
        }
        tell("end ");
    }

    private static void background(Callable<?> work) {
        Thread thread = new Thread(() -> {
            try {
                work.call();
            } catch (Exception cause) {
                cause.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static boolean isAlive(Thread[] threads) {
        for (Thread thread : threads) {
            if (thread.isAlive()) {
                return true;
            }
        }
        return false;
    }

    private static Void collect() throws InterruptedException {
        while (true) {
            Thread.sleep(COLLECT_MILLIS);
            System.gc();
        }
    }

    private static void deploy(int number, Path template) throws Exception {
        Path jar = template.resolveSibling("application-" + number + ".jar");
        Files.copy(template, jar);
        Application loader = new Application(number, jar);
        try {
            @SuppressWarnings("unchecked")
            Callable<Integer> application = (Callable<Integer>)
                    loader.loadClass("soak.deployed.Server").getConstructor(String.class).newInstance(loader.generated);
            received.addAndGet(application.call());
        } finally {
            if (number % 2 == 0) {
                loader.close();
            }
            Files.delete(jar);
            thrownAway.add(new WeakReference<>(loader));
            deployed.incrementAndGet();
        }
    }

    private static void count() {
        thrownAway.removeIf(loader -> {
            boolean isGone = loader.get() == null;
            collected.addAndGet(isGone ? 1 : 0);
            return isGone;
        });
    }

    private static void tell(String begin) {
        count();
        System.gc();
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        System.out.println(begin + "deployed=" + deployed + " collected=" + collected + " received=" + received
                + " heap=" + heap + " metaspace=" + metaspace()
                + " threads=" + ManagementFactory.getThreadMXBean().getThreadCount());
    }

    /** What classes take, in bytes; their number is told wrong by JVMs that have rewritten some. */
    private static long metaspace() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                return pool.getUsage().getUsed();
            }
        }
        throw new IllegalStateException("no metaspace");
    }

    /** The loader of a deployment: also of a class that is generated, whose name no other deployment has. */
    private static final class Application extends URLClassLoader {
        private static final String TEMPLATE = "soak.deployed.Generated0000000";

        private final String generated;

        Application(int number, Path jar) throws IOException {
            super(new URL[] {jar.toUri().toURL()}, Soak.class.getClassLoader());
            // As long as the template's, so that it can stand in its place in the class file.
            generated = TEMPLATE.substring(0, TEMPLATE.length() - 7) + (1_000_000 + number);
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            return name.equals(generated) ? generate() : super.findClass(name);
        }

        private Class<?> generate() throws ClassNotFoundException {
            try {
                // Through a cache, its jar would stay open.
                URLConnection template = findResource(TEMPLATE.replace('.', '/') + ".class").openConnection();
                template.setUseCaches(false);
                byte[] bytes;
                try (InputStream file = template.getInputStream()) {
                    bytes = file.readAllBytes();
                }
                byte[] file = new String(bytes, StandardCharsets.ISO_8859_1)
                        .replace(TEMPLATE.replace('.', '/'), generated.replace('.', '/'))
                        .getBytes(StandardCharsets.ISO_8859_1);
                return defineClass(generated, file, 0, file.length);
            } catch (IOException cause) {
                throw new ClassNotFoundException(generated, cause);
            }
        }
    }
}
