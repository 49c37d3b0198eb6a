/*
 * A loader that looks for files under a lock, as one that can be refreshed; while that is held, which may be until the
 * program goes on, the first object is received of a class that has been loaded before.
 *   java isolated.Refreshed FOLDER-OF-CLASSES
 */
package isolated;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;

public final class Refreshed {
    private Refreshed() {}

    public static final class Item {
        int number = 1;

        public static Item fetch() {
            return new Item();
        }
    }

    public static final class Receiver implements Runnable {
        @Override
        public void run() {
            System.out.println("received " + Item.fetch().number);
        }
    }

    private static final class Loader extends URLClassLoader {
        final ReentrantLock refreshing = new ReentrantLock();

        Loader(URL folder) {
            super(new URL[] {folder}, ClassLoader.getPlatformClassLoader());
        }

        @Override
        public URL getResource(String name) {
            refreshing.lock();
            try {
                return super.getResource(name);
            } finally {
                refreshing.unlock();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Loader loader = new Loader(Path.of(arguments[0]).toUri().toURL());
        Class.forName("isolated.Refreshed$Item", true, loader);
        Runnable receiver = (Runnable)
                Class.forName("isolated.Refreshed$Receiver", true, loader).getDeclaredConstructor().newInstance();
        Thread other = new Thread(receiver);
        other.setDaemon(true);
        loader.refreshing.lock();
        other.start();
        other.join(10_000);
        System.out.println(other.isAlive() ? "waits" : "refreshed");
    }
}
