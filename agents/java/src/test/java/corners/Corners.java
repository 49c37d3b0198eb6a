/*
 * A program whose use of "remote" objects is known exactly: each field of Item is read in another way, in many
 * threads, while collections are forced all the time. `Corners#fetch` stands for a client; the test names it by the
 * agent's option `remote`. Prints how many objects there were, and how often `sometimes` was read. With `requests`, each
 * object is received and used in a request of its own.
 *   java corners.Corners OBJECTS [requests]
 */
package corners;

import jakarta.servlet.http.HttpServlet;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.hibernate.bytecode.spi.ReflectionOptimizer;

public final class Corners {
    private static final int THREADS = 3;

    static class Base {
        protected int inherited = 1;
        protected int inheritedNever = 2;
    }

    static class Item extends Base implements Serializable {
        String always = "a";
        String never = "n";
        String sometimes = "s";
        String printed = "p";
        String compared = "c";
        String printedAndUsed = "u";
        String onOtherThread = "t";
        String byReflection = "r";
        String byHandle = "h";
        private long inLambda = 3;
        boolean afterException = true;
        int stored = 5;
        int storedAgain = 6;
        String storedText = "s";
        String storedByReflection = "v";
        int storedByReflectionInt = 8;
        /** Only what Hibernate generates for entities reads it, to look for changes. */
        String byHibernate = "e";
        /** Only methods read it that Hibernate adds to entities, as they set it, and to look for changes. */
        int enhanced = 4;
        int byEnhanced = 10;

        void $$_hibernate_write_enhanced(int value) {
            if (enhanced != value) {
                enhanced = value;
            }
        }

        boolean $$_hibernate_hasDirtyAttributes() {
            return enhanced > 100;
        }

        /** What the program's reads become. */
        int $$_hibernate_read_byEnhanced() {
            return byEnhanced;
        }

        String getPrinted() {
            return printed;
        }

        @Override
        public String toString() {
            if (afterException) {
                throw new IllegalStateException(getPrinted() + printedAndUsed);
            }
            return getPrinted();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Item && compared.equals(((Item) other).compared);
        }

        @Override
        public int hashCode() {
            return compared.hashCode();
        }
    }

    /** Stands for such a class. */
    static class Optimizer implements ReflectionOptimizer.AccessOptimizer {
        @Override
        public Object[] getPropertyValues(Object entity) {
            return new Object[] {((Item) entity).byHibernate};
        }
    }

    /** Copies of it may be read when it is dead: nothing can be said of what was not read. */
    static class Copied implements Cloneable, Serializable {
        int read = 1;
        int readOfCopy = 2;

        Copied copy() {
            try {
                return (Copied) clone();
            } catch (CloneNotSupportedException cause) {
                throw new AssertionError(cause);
            }
        }

        Copied copyOfParent() throws CloneNotSupportedException {
            return (Copied) super.clone();
        }

        @Override
        protected Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    private static final AtomicInteger sometimesRead = new AtomicInteger();
    private static final BlockingQueue<FutureTask<Object>> handedOver = new ArrayBlockingQueue<>(64);
    private static final ReflectionOptimizer.AccessOptimizer OPTIMIZER = new Optimizer();
    private static boolean inRequests;
    private static Field byReflection;
    private static Field storedByReflection;
    private static Field storedByReflectionInt;
    private static MethodHandle byHandle;
    static volatile Object sink;

    private Corners() {}

    static Item fetch() {
        return new Item();
    }

    static Copied fetchCopied() {
        return new Copied();
    }

    private static void use(Item item) throws Throwable {
        sink = item.always;
        sink = item.inherited;
        if (ThreadLocalRandom.current().nextInt(10) < 3) {
            sometimesRead.incrementAndGet();
            sink = item.sometimes;
        }
        try {
            sink = item.toString();
        } catch (IllegalStateException cause) {
            sink = item.afterException;
        }
        sink = item.equals(new Item());
        sink = new Item().equals(item);
        sink = item.printedAndUsed;
        sink = byReflection.get(item);
        sink = (String) byHandle.invokeExact(item);
        Runnable lambda = () -> sink = item.inLambda;
        lambda.run();
        FutureTask<Object> onOtherThread = new FutureTask<>(() -> sink = item.onOtherThread);
        handedOver.put(onOtherThread);
        if (inRequests) {
            onOtherThread.get();
        }
        item.stored = 7;
        item.storedAgain = 6;
        item.storedText = "t";
        storedByReflection.set(item, "t");
        storedByReflectionInt.setInt(item, 9);
        sink = OPTIMIZER.getPropertyValues(item);
        item.$$_hibernate_write_enhanced(5);
        sink = item.$$_hibernate_hasDirtyAttributes();
        sink = item.$$_hibernate_read_byEnhanced();
        Copied copied = fetchCopied();
        sink = copied.read;
        sink = (ThreadLocalRandom.current().nextBoolean() ? copied.copy() : copied.copyOfParent()).readOfCopy;
    }

    private static Object useOne() throws Exception {
        try {
            use(fetch());
            return null;
        } catch (Exception | Error cause) {
            throw cause;
        } catch (Throwable cause) {
            throw new IllegalStateException(cause);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int objects = Integer.parseInt(arguments[0]);
        inRequests = arguments.length > 1;
        byReflection = Item.class.getDeclaredField("byReflection");
        storedByReflection = Item.class.getDeclaredField("storedByReflection");
        storedByReflectionInt = Item.class.getDeclaredField("storedByReflectionInt");
        byHandle = MethodHandles.lookup().findGetter(Item.class, "byHandle", String.class);
        background(() -> {
            while (true) {
                handedOver.take().run();
            }
        });
        background(() -> {
            while (true) {
                System.gc();
                Thread.sleep(2);
            }
        });
        Thread[] threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            threads[number] = new Thread(() -> {
                HttpServlet request = new HttpServlet(Corners::useOne);
                try {
                    for (int object = 0; object < objects / THREADS; object++) {
                        if (inRequests) {
                            request.service(null);
                        } else {
                            use(fetch());
                        }
                        if (object % 50 == 0) {
                            Thread.sleep(5);
                        }
                    }
                } catch (Throwable cause) {
                    cause.printStackTrace();
                    System.exit(1);
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Thread.sleep(1000); // The last ones are collected.
        System.out.println("objects " + objects / THREADS * THREADS);
        System.out.println("sometimes " + sometimesRead);
        System.out.println("members " + Copied.class.getDeclaredFields().length + "/"
                + Copied.class.getDeclaredMethods().length + "/" + Copied.class.getMethods().length + "/"
                + Copied.class.getInterfaces().length + "/" + Base.class.getDeclaredFields().length);
        System.out.println("serial " + ObjectStreamClass.lookup(Copied.class).getSerialVersionUID());
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private static void background(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (InterruptedException cause) {
                // The program is over.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
