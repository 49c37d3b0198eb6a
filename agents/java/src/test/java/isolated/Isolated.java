/*
 * A loader that takes nothing but java.* from others, and a class that it loads. Prints what that class does. With `bundle`,
 * the loader is like Equinox's: it takes more from others if code of no bundle asks it by Class.forName.
 *   java isolated.Isolated FOLDER-OF-CLASSES [bundle]
 */
package isolated;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.osgi.framework.BundleReference;

public final class Isolated {
    private Isolated() {}

    public static final class Bundle implements Runnable {
        private final String name = String.valueOf("bundle");

        @Override
        public void run() {
            System.out.println(name + " runs");
        }
    }

    private static class Loader extends ClassLoader {
        private final Path folder;

        Loader(Path folder) {
            super(null);
            this.folder = folder;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("java.")) {
                return ClassLoader.getSystemClassLoader().loadClass(name);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try {
                byte[] file = Files.readAllBytes(folder.resolve(name.replace('.', '/') + ".class"));
                return defineClass(name, file, 0, file.length);
            } catch (IOException cause) {
                throw new ClassNotFoundException(name, cause);
            }
        }
    }

    private static final class OfBundle extends Loader implements BundleReference {
        OfBundle(Path folder) {
            super(folder);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean isAskedFor = StackWalker.getInstance().walk(
                    frames -> frames.anyMatch(frame -> frame.getMethodName().equals("forName")));
            return isAskedFor ? getSystemClassLoader().loadClass(name) : super.loadClass(name, resolve);
        }
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        Path folder = Path.of(arguments[0]);
        Loader loader = arguments.length > 1 ? new OfBundle(folder) : new Loader(folder);
        Class<?> bundle = loader.loadClass("isolated.Isolated$Bundle");
        ((Runnable) bundle.getConstructor().newInstance()).run();
    }
}
