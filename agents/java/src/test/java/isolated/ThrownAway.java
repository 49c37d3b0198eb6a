/*
 * Applications whose classes keep what they have received, outside of any request, each with a loader of its own that is
 * thrown away. Prints how many of the loaders are not gone.
 *   java isolated.ThrownAway FOLDER-OF-CLASSES LOADERS
 */
package isolated;

import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public final class ThrownAway {
    private ThrownAway() {}

    public static final class Item {
        int number = 1;

        public static Item fetch() {
            return new Item();
        }
    }

    public static final class Application implements Runnable {
        static Item kept;

        @Override
        public void run() {
            kept = Item.fetch();
        }
    }

    private static WeakReference<ClassLoader> deploy(URL folder) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder}, ClassLoader.getPlatformClassLoader())) {
            Class<?> application = loader.loadClass("isolated.ThrownAway$Application");
            ((Runnable) application.getDeclaredConstructor().newInstance()).run();
            return new WeakReference<>(loader);
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int number = Integer.parseInt(arguments[1]); number > 0; number--) {
            loaders.add(deploy(Path.of(arguments[0]).toUri().toURL()));
        }
        for (int collection = 0; collection < 50 && !loaders.isEmpty(); collection++) {
            System.gc();
            Thread.sleep(100);
            loaders.removeIf(loader -> loader.get() == null);
        }
        Thread.sleep(500); // The agent decides what is dead.
        System.out.println("left " + loaders.size());
    }
}
