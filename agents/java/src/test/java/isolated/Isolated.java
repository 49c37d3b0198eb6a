/*
 * A loader that takes nothing but java.* from others, as OSGi frameworks have them, and a class that it loads. Prints what
 * that class does.
 *   java isolated.Isolated FOLDER-OF-CLASSES
 */
package isolated;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public final class Isolated {
    private Isolated() {}

    public static final class Bundle implements Runnable {
        private final String name = String.valueOf("bundle");

        @Override
        public void run() {
            System.out.println(name + " runs");
        }
    }

    private static final class Loader extends ClassLoader {
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

    public static void main(String[] arguments) throws ReflectiveOperationException {
        Class<?> bundle = new Loader(Path.of(arguments[0])).loadClass("isolated.Isolated$Bundle");
        ((Runnable) bundle.getConstructor().newInstance()).run();
    }
}
